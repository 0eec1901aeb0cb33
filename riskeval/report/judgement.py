"""The page on a synthetic file: whether it tells more of its participants than of strangers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from riskeval.attacks.numbers import AttackNumber
from riskeval.attacks.registry import ATTACKS
from riskeval.attacks.synthetic_risk import title_of
from riskeval.report.advice import advice_on
from riskeval.report.intruders import intruders_of_attacks
from riskeval.report.values import ROUNDING, shown
from riskeval.report.verdict_row import verdict_row
from riskeval.shared.measurement import Measurement
from synthpop.microdata.formats.places import Place
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import capitalised, message, sentence
from synthpop.microdata.messages.text import BLANK, join, number, percent_tick, plural
from synthpop.microdata.pages.charts import interval_dot
from synthpop.microdata.pages.page import write_for
from synthpop.microdata.pages.page_facts import (
    Svg,
    card,
    finding,
    folding_row,
    row_id,
    table,
    verdict,
)
from synthpop.microdata.pages.plane import Axis, Plane

if TYPE_CHECKING:
    from riskeval.attacks.synthetic_risk import SyntheticRisk

MOST_FINDINGS = 3
NO_STRANGERS = (
    "The hold-out holds no strangers: its records are in the original too, or the synthetic file "
    "tells more about them. Give persons of the same kind who took part in neither."
)
FOUND = "{what}: {value} of the original, {usual} of strangers"
GUESSED = "{what}: {value}, where guessing reaches {usual}"


def write_judgement(
    path: Place | str,
    risk: SyntheticRisk,
    *,
    title: str | None = None,
    audience: str = "internal",
    language: str = "en",
) -> Place:
    """Write what the attacks on a synthetic file found as one self-contained HTML file.

    Parameters
    ----------
    path : path
    risk : SyntheticRisk
        Result of `assess_synthetic`.
    title : str, optional
    audience : {"internal", "external"}
        "external" shows shares rounded to multiples of five records, and nothing else that was
        measured: no intervals, charts, notes or seed. A share of unknown records is not shown.
    language : {"en", "de"}
        Language of the page and of its numbers.

    Raises
    ------
    InputError
        An unknown audience or language.
    OutputError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from riskeval import assess_synthetic
    >>> data = pd.DataFrame({"age": [20, 20, 30, 40] * 9, "ill": ["n", "n", "y", "n"] * 9})
    >>> risk = assess_synthetic(data, data, "age", "ill", attacks=["disco"], seed=1)
    >>> page = write_judgement(tempfile.mkdtemp() + "/judge.html", risk)
    >>> "DiSCO" in page.read_text(encoding="utf-8")
    True
    """
    facts = partial(judgement_facts, risk)
    return write_for(
        path, "riskeval", "judge.html.j2", facts, title=title, audience=audience, language=language
    )


def judgement_facts(risk: SyntheticRisk, external: bool) -> dict[str, Any]:
    """Return everything that the page says, as text ready to be set."""
    rows = [_row(risk, *item, external) for item in _numbers(risk)]
    rows.sort(key=lambda row: not row["flagged"])
    attacks = [ATTACKS[name] for name in dict.fromkeys(attack for attack, _ in risk.results)]
    return {
        "title": gettext("Disclosure risk of a synthetic file"),
        "external": external,
        "cards": _cards(risk, external),
        "judged": verdict_row(risk.verdict, external),
        "verdicts": verdict_rows(risk, external),
        "reasons": _worst(risk, external),
        "map": "" if external else _map(risk),
        "nothing": _nothing(risk),
        "story": risk.story,
        "rounding": ROUNDING if external else "",
        "rows": rows,
        "sorts": []
        if external
        else [("excess", message("excess over strangers")), ("value", "value")],
        "skipped": [
            [_title(attack, target), "" if external else why]
            for (attack, target), why in risk.skipped.items()
        ],
        "attacks": table(
            ["Attack", "What the intruder does", "What it cannot see"],
            [
                [one.title, message("The intruder {story}.", story=one.story), one.blind_spots]
                for one in attacks
            ],
            text_columns=3,
        ),
        "intruders": None
        if external
        else intruders_of_attacks((attack, one) for attack, _, one in _numbers(risk)),
        "seed": "" if external else str(risk.seed),
    }


def _nothing(risk: SyntheticRisk) -> str:
    """Return what it means that no attack stands out."""
    if risk.no_strangers or risk.table["excess"].isna().all():
        return message("Without strangers to compare with, no attack can be judged.")
    return message(
        "No attack finds clearly more about persons of the original than about strangers."
    )


def _numbers(risk: SyntheticRisk, only: str = "") -> Iterator[tuple[str, str, AttackNumber]]:
    """Yield the numbers of all attacks or one, with its target; what they count is filled in."""
    for (attack, target), result in risk.results.items():
        if only and attack != only:
            continue
        for one in ATTACKS[attack].numbers(result):
            measured = one.measurement
            if not measured.records:
                measured = replace(measured, records=_least_records(result, one))
            yield attack, target, replace(one, measurement=measured)


def _least_records(result: Any, one: AttackNumber) -> int:
    """Return the smallest number of records that a share may refer to; 0 where none is known."""
    sizes = [getattr(result, name, 0) for name in ("n_looked_for", "n_original", "n_synthetic")]
    if one.excess is not None:
        sizes += [one.excess.n, one.excess.n_holdout]
    return min((int(n) for n in sizes if n), default=0)


def _title(attack: str, target: str) -> str:
    return title_of(attack, target)


def _cards(risk: SyntheticRisk, external: bool) -> list[dict[str, str]]:
    skipped = (
        message("{skipped} left out", skipped=len(risk.skipped))
        if risk.skipped
        else message("none left out")
    )
    cards = [
        card("Attacks", str(len(risk.results)), skipped),
        card("Higher than for strangers", str(len(risk.above_together)), "attacks, all together"),
    ]
    identical = _identical(risk)
    if identical is not None:
        text = shown(identical.measurement, external)
        cards.append(card("Identical records", text, "synthetic records equal to an original"))
    return cards


def _identical(risk: SyntheticRisk) -> AttackNumber | None:
    """Return the share of synthetic records that equal an original one, where it was measured."""
    screened = (one for _, _, one in _numbers(risk, "distance_screen"))
    return next((one for one in screened if one.measurement.info.name == "identical"), None)


def _map(risk: SyntheticRisk) -> Svg | str:
    """Return what attacks find on participants beside what they find on strangers, as SVG."""
    found = [
        (beyond.holdout_rate, beyond.rate, _row_title(one.measurement, target), one.is_above)
        for _, target, one in _numbers(risk)
        if (beyond := one.excess) is not None
    ]
    if not found:
        return ""
    most = max(0.02, *(1.08 * max(strangers, members) for strangers, members, _, _ in found))
    plane = Plane(
        Axis(message("Found of strangers"), 0.0, most, text=percent_tick),
        Axis(message("Found of participants (above the line: more)"), 0.0, most, text=percent_tick),
    )
    plane.line([0.0, most], [0.0, most], "front")
    for strangers, members, title, above in found:
        kind, shape = ("far", "circle") if above else ("c0 hollow", "circle")
        plane.point(strangers, members, kind, shape, title if above else "")
    text = message("{n} of {m} numbers are clearly higher for participants than for strangers",
                   n=sum(above for *_, above in found), m=len(found))  # fmt: skip
    return Svg(plane.render(text))


def verdict_rows(risk: SyntheticRisk, external: bool) -> list[dict[str, str]]:
    """Return the rows below the verdict: copies, and what was attacked."""
    rows = [_copies(risk, external)]
    if risk.skipped:
        names = join(_title(*item) for item in risk.skipped)
        rows.append(
            verdict(
                "Attacks",
                "some left out",
                "look",
                message("Left out: {names}.", names=names),
                "#skipped",
            )
        )
    else:
        text = message(
            "{n} ran. Stronger ones may find more.", n=plural(len(risk.results), "attack")
        )
        rows.append(verdict("Attacks", "all ran", "good", text, "#attacks"))
    return rows


def _copies(risk: SyntheticRisk, external: bool) -> dict[str, str]:
    """Judge copied records by the distance screen."""
    one = _identical(risk)
    if one is None:
        why = message("The distance screen did not run.")
        return verdict("Copied records", "not assessed", "none", why)
    measured = one.measurement
    value = shown(measured, external)
    share = message("{share} of the synthetic records equal an original one", share=value)
    if external and value == BLANK:
        share = message("The share of synthetic records that equal an original one is not shown")
    usual = shown(replace(measured, value=measured.baseline, lower=np.nan), external)
    if usual != BLANK:
        share += "; " + message(
            "among {against}: {usual}", against=message(measured.against), usual=usual
        )
    word, level = ("none", "good") if measured.value == 0 else (message("not more"), "look")
    if one.is_above or risk.copies:
        word, level = "more", "bad"
    elif risk.near_copies:
        word, level = message("nearly copies"), "bad" if risk.above_together else "look"
        share += "; " + message("more are near to an original one than expected by chance")
    link = f"#{row_id(_key('distance_screen', '', measured))}"
    return verdict("Copied records", word, level, f"{share}.", link)


def _worst(risk: SyntheticRisk, external: bool) -> list[dict[str, str]]:
    """Return the attacks that find clearly more on participants than on strangers."""
    findings: list[tuple[float, dict[str, str]]] = []
    for attack, target, one in _numbers(risk):
        if not one.is_above or one.excess is None:
            continue
        measured = one.measurement
        name, beyond = measured.info.name, one.excess
        rates = ((beyond.rate, beyond.n), (beyond.holdout_rate, beyond.n_holdout))
        value, usual = (
            shown(replace(measured, value=x, lower=np.nan, records=n), external) for x, n in rates
        )
        text = f"{_row_title(measured, target)} ({gettext(ATTACKS[attack].title)})"
        if BLANK in (value, usual):
            text += " " + message("is higher for the original than for strangers")
        elif measured.against == "guessing":
            text = message(GUESSED, what=text, value=value, usual=usual)
        else:
            text = message(FOUND, what=text, value=value, usual=usual)
        link = f"#{row_id(_key(attack, target, measured))}"
        topic = "identical" if name in ("identical", "close", "members") else attack
        findings.append((-one.excess.difference, finding(text, link, advice_on(topic))))
    findings.sort(key=lambda item: item[0])
    return [item for _, item in findings[:MOST_FINDINGS]]


def _key(attack: str, target: str, measured: Measurement) -> str:
    name = "identical" if measured.info.name == "identical" else measured.info.title
    return " ".join(word for word in (attack, target, name) if word)


def _row_title(measured: Measurement, target: str) -> str:
    title = capitalised(gettext(measured.info.title))
    return message("{title} of {target}", title=title, target=target) if target else title


def _row(
    risk: SyntheticRisk, attack: str, target: str, one: AttackNumber, external: bool
) -> dict[str, Any]:
    measured, beyond = one.measurement, one.excess
    baseline = replace(measured, value=measured.baseline, lower=np.nan, upper=np.nan)
    excess = BLANK if beyond is None or external else number(beyond.difference)
    sentences = [sentence(gettext(measured.info.meaning))]
    if measured.against:
        sentences.append(message("Compared with: {what}.", what=message(measured.against)))
    if one.reading():
        sentences.append("" if external else sentence(one.reading()))
    note = risk.notes.get((attack, target), "")
    if not external:
        sentences += [note + "." if note else "", _interval(one)]
    if measured.info.source:
        sentences.append(message("Source: {source}.", source=measured.info.source))
    ends = [x for x in (measured.value, measured.upper, measured.baseline) if np.isfinite(x)]
    reach = min(1.0, 1.15 * max([*ends, 0.01]))
    plot = (
        ""
        if external
        else interval_dot(
            measured.value,
            measured.lower,
            measured.upper,
            measured.baseline,
            (0.0, reach),
            message(
                "{measured}: {measured_2}, compared with {baseline}",
                measured=_row_title(measured, target),
                measured_2=shown(measured),
                baseline=number(measured.baseline),
            ),
            is_far=one.is_above,
        )
    )
    value = shown(replace(measured, lower=np.nan, upper=np.nan), external)
    return folding_row(
        _key(attack, target, measured),
        _row_title(measured, target),
        ATTACKS[attack].title,
        plot,
        [value, shown(baseline, external) if measured.against else BLANK, excess],
        {} if external else {"value": measured.value,
                             "excess": np.nan if beyond is None else beyond.difference},
        flagged=one.is_above,
        sentences=sentences,
    )  # fmt: skip


def _interval(one: AttackNumber) -> str:
    measured, beyond = one.measurement, one.excess
    text = ""
    if np.isfinite(measured.lower):
        text = (
            message(
                "Interval of the value: {a} to {b}.",
                a=number(measured.lower),
                b=number(measured.upper),
            )
            + " "
        )
    if beyond is not None:
        text += message(
            "Excess over strangers: {difference} ({lower} to {upper}).",
            difference=number(beyond.difference),
            lower=number(beyond.lower),
            upper=number(beyond.upper),
        )
    return str(text).strip()
