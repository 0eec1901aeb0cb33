"""Ways to rank original records by their nearness to released ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.measures.linkage.distances import SLACK, Ranks, check_pairs, link_by_cost
from riskeval.shared.files import read_frames
from synthpop.microdata.frame.checks import check_columns, check_numeric
from synthpop.microdata.frame.codes import CodedKeys, encode_keys
from synthpop.microdata.frame.frames import as_names, check_finite, is_number, numbers
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.statistics.distances import known_ranges

MOST_VARIABLES = 12
EM_STEPS = 500


@dataclass(frozen=True, slots=True, eq=False)
class LinkageFiles:
    """Both files as arrays."""

    # o_numbers, r_numbers: float64, shape (n_o, p) and (n_r, p)
    o_numbers: np.ndarray
    r_numbers: np.ndarray
    # o_codes, r_codes: int64, shape (n_o, q) and (n_r, q): codes of the other columns, shared by
    # both files, -1 missing
    o_codes: np.ndarray
    r_codes: np.ndarray
    levels: tuple[tuple[Any, ...], ...]
    # numeric, coded: names of the columns
    numeric: tuple[str, ...]
    coded: tuple[str, ...]
    # number_weights, code_weights: float64, shape (p,) and (q,)
    number_weights: np.ndarray
    code_weights: np.ndarray
    blocks: CodedKeys | None  # block columns of the stacked files
    truth: np.ndarray  # int64, shape (n_r,): row of the own original, -1 where there is none
    agreement: dict[str, float]  # given agreement limits by variable


def read_linkage_files(
    faults: Faults,
    original: Any,
    released: Any,
    variables: Sequence[str] | str,
    block: tuple[str, ...],
    identifier: str | None,
    by_variable: Mapping[str, Mapping[str, float] | None],
    *,
    numeric_only: bool,
) -> LinkageFiles:
    """Check both files and turn them into arrays; raise every fault found."""
    o, r = read_frames(faults, original, released, same_length=identifier is None)
    names = as_names(faults, variables, "variables")
    fine = bool(names)
    check = check_numeric if numeric_only else check_columns
    for frame, file in ((o, "original"), (r, "release")):
        fine = check(faults, frame, names, f"variable of the {file}") and fine
        fine = check_columns(faults, frame, block, f"block of the {file}") and fine
        if identifier is not None:
            fine = check_columns(faults, frame, [identifier], f"identifier of the {file}") and fine
    for argument, by_column in by_variable.items():
        for name, value in (by_column or {}).items():
            if name not in names:
                faults.add(argument, f"{name!r} is not one of the variables")
            elif not (isinstance(value, (int, float)) and 0 <= value < np.inf):
                faults.add(argument, f"{value!r} for {name!r} is not a number of at least 0")
    if not fine:
        faults.raise_if_any()
    truth = _truth(faults, o, r, identifier)
    numeric = tuple(name for name in names if is_number(o[name]) and is_number(r[name]))
    coded = tuple(name for name in names if name not in numeric)
    o_numbers, r_numbers = (
        numbers(f, numeric) if numeric else np.empty((len(f), 0)) for f in (o, r)
    )
    check_finite(faults, o_numbers, numeric, "original")
    check_finite(faults, r_numbers, numeric, "release")
    faults.raise_if_any()
    keys = _stacked(o, r, coded)
    by_column = by_variable["weights"] or {}
    return LinkageFiles(
        o_numbers, r_numbers,
        keys.codes[: len(o)].astype(np.int64), keys.codes[len(o) :].astype(np.int64), keys.levels,
        numeric, coded,
        np.array([by_column.get(name, 1.0) for name in numeric], dtype=np.float64),
        np.array([by_column.get(name, 1.0) for name in coded], dtype=np.float64),
        _stacked(o, r, block) if block else None, truth, dict(by_variable["agreement"] or {}),
    )  # fmt: skip


def _stacked(o: pd.DataFrame, r: pd.DataFrame, names: Sequence[str]) -> CodedKeys:
    columns = {
        name: pd.concat([o[name].astype(object), r[name].astype(object)], ignore_index=True)
        for name in names
    }
    if not columns:
        return CodedKeys((), np.empty((len(o) + len(r), 0), dtype=np.int32), ())
    return encode_keys(pd.DataFrame(columns), list(names))


def _truth(faults: Faults, o: pd.DataFrame, r: pd.DataFrame, identifier: str | None) -> np.ndarray:
    if identifier is None:
        return np.arange(len(r))
    index = pd.Index(o[identifier])
    if not index.is_unique:
        rows = np.flatnonzero(index.duplicated(keep=False))
        faults.add(identifier, "names two units of the original alike", rows=rows)
        return np.full(len(r), -1)
    return index.get_indexer(pd.Index(r[identifier])).astype(np.int64)


def rank_by_gower(
    files: LinkageFiles,
    o: np.ndarray,
    r: np.ndarray,
    truth: np.ndarray,
    ranges: np.ndarray,
    assign: str,
) -> Ranks:
    """Rank rows `o` and `r` of the files by Gower distance, or assign them one to one."""
    from riskeval.kernels.gower import gower_ranks

    if assign == "one-to-one":
        check_pairs(len(r), len(o))
        cost = gower_matrix(files, r, o, ranges)
        ranks = Ranks.empty(len(r))
        link_by_cost(ranks, cost, np.arange(len(r)), np.arange(len(o)), truth)
        return ranks
    nearest = gower_ranks(
        files.o_numbers[o], files.r_numbers[r], ranges, files.number_weights,
        files.o_codes[o], files.r_codes[r], files.code_weights, truth, SLACK,
    )  # fmt: skip
    return Ranks(*nearest)


def ranges_of(files: LinkageFiles) -> np.ndarray:
    """Return the range of each numeric variable over both files, shape (p,)."""
    return known_ranges(np.vstack([files.o_numbers, files.r_numbers]))


def gower_matrix(
    files: LinkageFiles, r: np.ndarray, o: np.ndarray, ranges: np.ndarray
) -> np.ndarray:
    """Gower distances, shape (len(r), len(o)); the largest possible, 1, where nothing compares."""
    total = np.zeros((len(r), len(o)))
    compared = np.zeros_like(total)
    for k, width in enumerate(ranges):
        gap = np.abs(files.r_numbers[r, k][:, None] - files.o_numbers[o, k][None])
        known = ~np.isnan(gap)
        compared += files.number_weights[k] * known
        if width > 0:
            total += files.number_weights[k] * np.where(known, gap, 0.0) / width
    for k, weight in enumerate(files.code_weights):
        a, b = files.r_codes[r, k][:, None], files.o_codes[o, k][None]
        known = (a >= 0) & (b >= 0)
        compared += weight * known
        total += weight * (known & (a != b))
    return np.where(compared > 0, total / np.where(compared > 0, compared, 1.0), 1.0)


def rank_by_weight(
    files: LinkageFiles, blocks: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], assign: str
) -> tuple[Ranks, dict[str, object]]:
    """Rank by Fellegi-Sunter weights (EM over all blocks); one to one: greatest total weight."""
    from riskeval.kernels.linkage import pair_weights, pattern_counts, weight_ranks

    n_variables = len(files.numeric) + len(files.coded)
    if n_variables > MOST_VARIABLES:
        what = f"{n_variables} are too many for method 'probabilistic'"
        raise InputError.of("record_linkage", "variables", what, f"At most {MOST_VARIABLES}.")
    rules = _agreement_rules(files)
    counts = np.zeros(3**n_variables, dtype=np.int64)
    for o, r, _ in blocks:
        pattern_counts(*(*_pair_arrays(files, o, r, rules), counts))
    n_matches = float(sum((truth >= 0).sum() for _, _, truth in blocks))
    share, m, u = fit_fellegi_sunter(counts, n_variables, n_matches)
    weights = pattern_weights(n_variables, m, u)
    all_ranks = Ranks.empty(len(files.r_numbers))
    for o, r, truth in blocks:
        pairs: tuple[Any, ...] = _pair_arrays(files, o, r, rules)
        if assign == "one-to-one":
            check_pairs(len(r), len(o))
            cost = np.empty((len(r), len(o)))
            pair_weights(*(*pairs, weights, cost))
            ranks = Ranks.empty(len(r))
            link_by_cost(ranks, -cost, np.arange(len(r)), np.arange(len(o)), truth)
            ranks = replace(ranks, score=-ranks.score, own_score=-ranks.own_score)
        else:
            ranks = Ranks(*weight_ranks(*(*pairs, weights, truth)))
        all_ranks.put(r, o, ranks)
    names = (*files.numeric, *files.coded)
    parameters = {
        "share": share,
        "m": dict(zip(names, m.tolist(), strict=True)),
        "u": dict(zip(names, u.tolist(), strict=True)),
    }
    return all_ranks, parameters


def _agreement_rules(files: LinkageFiles) -> tuple[np.ndarray, ...]:
    """Reach of numbers; agreement of codes as one flat table, with its starts and widths."""
    rules = files.agreement
    spreads = [np.nanstd(c) if not np.isnan(c).all() else 0.0 for c in files.o_numbers.T]
    reach = np.array(
        [rules.get(name, 0.1 * sd) for name, sd in zip(files.numeric, spreads, strict=True)],
        dtype=np.float64,
    )
    tables = []
    for name, levels in zip(files.coded, files.levels, strict=True):
        table = np.eye(len(levels), dtype=np.bool_)
        if name in rules and all(isinstance(level, str) for level in levels):
            table = _alike(levels, rules[name])
        tables.append(table)
    width = np.array([len(table) for table in tables], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(width * width)])[:-1].astype(np.int64)
    flat = np.concatenate([table.ravel() for table in tables]) if tables else np.zeros(1, np.bool_)
    return reach, flat, start, width


def _alike(levels: tuple[str, ...], threshold: float) -> np.ndarray:
    from riskeval.kernels.linkage import jaro_agree

    lengths = np.array([len(level) for level in levels], dtype=np.int64)
    points = np.zeros((len(levels), max(int(lengths.max(initial=0)), 1)), dtype=np.int32)
    for row, level in enumerate(levels):
        points[row, : len(level)] = [ord(letter) for letter in level]
    return jaro_agree(points, lengths, points, lengths, threshold)


def _pair_arrays(
    files: LinkageFiles, o: np.ndarray, r: np.ndarray, rules: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, ...]:
    reach, agree, start, width = rules
    return (
        files.o_numbers[o], files.r_numbers[r], reach, files.o_codes[o], files.r_codes[r], agree,
        start, width,
    )  # fmt: skip


def _states(n_variables: int) -> np.ndarray:
    """Agreement states of each pattern: int64, shape (3 ** variables, variables)."""
    position = 3 ** np.arange(n_variables - 1, -1, -1)
    return np.arange(3**n_variables)[:, None] // position % 3


def fit_fellegi_sunter(
    counts: np.ndarray, n_variables: int, n_matches: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """Estimate the share of matching pairs and the probabilities m and u by EM.

    Agreements are independent within matching and within other pairs; a missing comparison tells
    nothing. Started at `n_matches` matching pairs, m = 0.9 and u at the overall agreement. `counts`
    are pairs by agreement pattern, base 3: 0 disagrees, 1 agrees, 2 missing.
    """
    states = _states(n_variables)
    agrees, known = states == 1, states != 2
    pairs = counts.sum()
    share = n_matches / pairs if pairs else 0.0
    m = np.full(n_variables, 0.9)
    u = _clip((counts @ agrees) / np.maximum(counts @ known, 1))
    for _ in range(EM_STEPS):
        like_m = np.exp(_log_likelihood(agrees, known, m))
        like_u = np.exp(_log_likelihood(agrees, known, u))
        mixed = share * like_m + (1 - share) * like_u
        matching = counts * share * like_m / np.where(mixed > 0, mixed, 1.0)
        other = counts - matching
        new_m = _clip((matching @ agrees) / np.maximum(matching @ known, 1e-300))
        new_u = _clip((other @ agrees) / np.maximum(other @ known, 1e-300))
        moved = max(np.abs(new_m - m).max(), np.abs(new_u - u).max())
        m, u, share = new_m, new_u, float(matching.sum() / pairs)
        if moved < 1e-9:
            break
    return share, m, u


def pattern_weights(n_variables: int, m: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return log2 likelihood ratios of the patterns: float64, shape (3 ** variables,)."""
    states = _states(n_variables)
    agrees, known = states == 1, states != 2
    ratio = _log_likelihood(agrees, known, m) - _log_likelihood(agrees, known, u)
    return ratio / np.log(2)


def _clip(probability: np.ndarray) -> np.ndarray:
    return np.clip(probability, 1e-6, 1 - 1e-6)


def _log_likelihood(agrees: np.ndarray, known: np.ndarray, p: np.ndarray) -> np.ndarray:
    each = np.where(agrees, np.log(p), np.log1p(-p)) * known
    return each.sum(axis=1)
