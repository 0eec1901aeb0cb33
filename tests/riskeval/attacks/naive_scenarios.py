"""The five scenarios as they are written in the book, record by record and match by match."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd


def same(a: object, b: object) -> bool:
    return a == b or (pd.isna(a) and pd.isna(b))


def matches(row: pd.Series, frame: pd.DataFrame, keys: list[str]) -> list[int]:
    """J_c of equations 6.17 and 6.20."""
    return [j for j in range(len(frame)) if all(same(frame[k].iloc[j], row[k]) for k in keys)]


def believed(row: pd.Series, frame: pd.DataFrame, keys: list[str], target: str) -> list[int]:
    """Whom the intruder takes for somebody when a hole matches anything."""
    exact = matches(row, frame, keys)
    if not exact:
        holes = {
            j: sum(pd.isna(frame[k].iloc[j]) and not pd.isna(row[k]) for k in keys)
            for j in range(len(frame))
            if all(pd.isna(frame[k].iloc[j]) or same(frame[k].iloc[j], row[k]) for k in keys)
            and not all(pd.isna(frame[k].iloc[j]) for k in keys)
        }
        exact = [j for j, count in holes.items() if count == min(holes.values())]
    with_value = [j for j in exact if not pd.isna(frame[target].iloc[j])]
    return with_value or exact


def matched(row, frame, keys, target, missing):
    """Those who match in one of the two ways to read a missing key."""
    if missing == "wildcard":
        return believed(row, frame, keys, target)
    return matches(row, frame, keys)


def ratio(low: float, high: float, value: float, lower: float, upper: float, rule: str) -> float:
    if math.isnan(value):
        return 0.0
    if not math.isfinite(upper - lower):
        return float(rule == "value" and low <= value <= high)
    if upper == lower:
        return float(low <= lower <= high)
    return max(0.0, min(high, upper) - max(low, lower)) / (upper - lower)


def predictions(sample: pd.DataFrame, population: pd.DataFrame, keys: list[str], target: str):
    """Row-by-row least squares on dummies; NaN where the combination is not in the population."""
    used = population[population[target].notna()]
    if len(used) == 0:
        return [math.nan] * len(sample)
    both = pd.concat([used, sample])[keys].astype(object).fillna("missing")
    dummies = pd.get_dummies(both, dtype=float).to_numpy()
    design = np.column_stack([np.ones(len(both)), dummies])
    beta = np.linalg.lstsq(design[: len(used)], used[target].to_numpy(float), rcond=1e-10)[0]
    fitted = design[len(used) :] @ beta
    return [
        fitted[c] if matches(sample.iloc[c], used, keys) else math.nan for c in range(len(sample))
    ]


def naive(
    sample, population, keys, target, accuracy, intervals, rule="value", literal=False,
    missing="category",
):  # fmt: skip
    """tau of each scenario and accuracy, in a dict."""
    tau = {pair: 0.0 for pair in itertools.product((1, 2, 3, 4, 5), accuracy)}
    predicted = predictions(sample, population, keys, target)
    for c in range(len(sample)):
        y = sample[target].iloc[c]
        if len(matches(sample.iloc[c], sample, keys)) != 1 or math.isnan(y):
            continue
        found = matched(sample.iloc[c], population, keys, target, missing)
        for p in accuracy:
            low, high = sorted([y * (1 - p), y * (1 + p)])
            inside = [float(low <= population[target].iloc[j] <= high) for j in found]
            ratios = [
                ratio(low, high, *population[[target, *intervals]].iloc[j].astype(float), rule)
                for j in found
            ]
            if len(found) == 1:
                tau[1, p] += ratios[0]
                tau[2, p] += inside[0]
            if found or literal:
                tau[3, p] += math.prod(ratios)
                tau[4, p] += math.prod(inside)
            tau[5, p] += float(low - 1e-9 <= predicted[c] <= high + 1e-9)
    return tau


def looked_for(sample: pd.DataFrame, keys: list[str], who: str) -> list[int]:
    """Rows of the sample that are attacked."""
    return [
        c
        for c in range(len(sample))
        if who == "everyone" or len(matches(sample.iloc[c], sample, keys)) == 1
    ]


def naive_numbers(sample, population, keys, target, p, who="everyone", missing="category"):
    """Scenarios 2 and 4 of a target of numbers, record by record."""
    tau = {2: 0.0, 4: 0.0}
    for c in looked_for(sample, keys, who):
        y = sample[target].iloc[c]
        found = matched(sample.iloc[c], population, keys, target, missing)
        if math.isnan(y) or not found:
            continue
        low, high = sorted([y * (1 - p), y * (1 + p)])
        right = all(low <= population[target].iloc[j] <= high for j in found)
        tau[4] += right
        tau[2] += right and len(found) == 1
    return tau


def naive_categories(sample, population, keys, target, who, missing="category"):
    """Scenarios 1 to 4 of a target of categories, and the guess of the commonest level."""
    tau = {s: 0.0 for s in (1, 2, 3, 4)}
    guess = dict(tau)
    counts = population[target].value_counts()
    known = set(sample[target])  # of levels that are as common, those of the sample come first
    commonest = min(
        counts.index[counts == counts.max()], key=lambda one: (one not in known, one), default=None
    )
    for c in looked_for(sample, keys, who):
        truth = sample[target].iloc[c]
        found = matched(sample.iloc[c], population, keys, target, missing)
        if pd.isna(truth) or not found:
            continue
        right = [population[target].iloc[j] == truth for j in found]
        for s in (3, 4) if len(found) > 1 else (1, 2, 3, 4):
            guess[s] += truth == commonest
        tau[3] += sum(right) / len(right)
        tau[4] += all(right)
        if len(found) == 1:
            tau[1] += right[0]
            tau[2] += right[0]
    return tau, guess


def holes_between(own: pd.DataFrame, other: pd.DataFrame, keys: list[str]) -> int | None:
    """Holes of another household that may be this one, by trying every way to pair members."""
    if len(own) != len(other) or other[keys].isna().all(axis=None):
        return None
    for order in itertools.permutations(range(len(own))):
        if all(
            pd.isna(other[k].iloc[j]) or same(other[k].iloc[j], own[k].iloc[i])
            for i, j in enumerate(order)
            for k in keys
        ):
            return int(other[keys].isna().sum().sum() - own[keys].isna().sum().sum())
    return None


def naive_households(
    sample, population, keys, target, household, p, members, who, missing="category"
):  # fmt: skip
    """Scenarios 2 and 4 for households, by comparing the keys of their members."""

    def composed(frame: pd.DataFrame) -> dict:
        return {
            number: sorted(map(repr, group[keys].astype(object).fillna("?").to_numpy().tolist()))
            for number, group in frame.groupby(household, sort=False)
        }

    ours, theirs = composed(sample), composed(population)
    homes = dict(list(population.groupby(household, sort=False)))
    groups = [list(homes)]
    if missing == "wildcard":  # households without a value say nothing beside those with one
        silent = [h for h, home in homes.items() if home[target].isna().all()]
        groups = [[h for h in homes if h not in silent], silent]
    tau = {2: 0.0, 4: 0.0}
    for number, own in ours.items():
        if who == "sample uniques" and list(ours.values()).count(own) > 1:
            continue
        people = sample[sample[household] == number]
        found = []
        for group in groups:
            found = [h for h in group if theirs[h] == own]
            if not found and missing == "wildcard":
                holes = {h: holes_between(people, homes[h], keys) for h in group}
                holes = {h: n for h, n in holes.items() if n is not None}
                found = [h for h, n in holes.items() if n == min(holes.values())]
            if found:
                break
        if not found:
            continue
        disclosed = []
        for _, person in people.iterrows():
            y = person[target]
            if math.isnan(y):
                continue
            low, high = sorted([y * (1 - p), y * (1 + p)])
            seen = []
            for h in found:
                alike = homes[h]
                at = matches(person, alike, keys)
                if missing == "wildcard":
                    holes = {
                        j: alike[keys].iloc[j].isna().sum() - person[keys].isna().sum()
                        for j in range(len(alike))
                        if all(
                            pd.isna(alike[k].iloc[j]) or same(alike[k].iloc[j], person[k])
                            for k in keys
                        )
                    }
                    at = [j for j, n in holes.items() if n == min(holes.values())]
                seen += [alike[target].iloc[j] for j in at]
            if missing == "wildcard":
                seen = [value for value in seen if not math.isnan(value)] or [math.nan]
            disclosed.append(all(low <= value <= high for value in seen))
        right = bool(disclosed) and (any if members == "any" else all)(disclosed)
        tau[4] += right
        tau[2] += right and len(found) == 1
    return tau
