"""beta-likeness: how much more likely a sensitive value becomes when the keys are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.matching import match_counts
from riskeval.keys.table import KeyTable, check_treatment, key_table
from riskeval.measures.entry import Measure, by_variable, person_risk
from riskeval.measures.request import AssessRequest, ByVariable
from riskeval.measures.sensitive_groups import Segments, category_notes, check_sensitive, per_cell
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.codes import Codes
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import number, percent, plural
from synthpop.microdata.roles.microdata import as_file


@dataclass(frozen=True, slots=True, eq=False)
class BetaLikeness(Result):
    """Largest relative gain of an intruder about a sensitive value.

    Attributes
    ----------
    beta : float
        Largest (p - q) / q over groups and values: basic beta-likeness.
    enhanced : bool
        Whether no gain is above -log q: enhanced beta-likeness holds for `beta` (and for no
        beta otherwise).
    gain : float64 array, shape (n,)
        Largest gain in the group of each record.
    n_above_log : int
        Records in groups with a gain above -log q.
    keys : tuple of str
    sensitive : str
    notes : tuple of str
        What to check before the numbers are used.
    """

    beta: float
    enhanced: bool
    gain: np.ndarray
    n_above_log: int
    keys: tuple[str, ...]
    sensitive: str
    notes: tuple[str, ...] = ()

    def violations(self, beta: float) -> int:
        """Number of records in groups with a gain above `beta`."""
        return int((self.gain > beta * (1 + 1e-12)).sum())

    def to_frame(self) -> pd.DataFrame:
        """One row per record: `gain`."""
        return pd.DataFrame({"gain": self.gain})

    def summary(self) -> str:
        """Return the largest gain and what it means."""
        records = plural(self.n_above_log, "record")
        enhanced = (
            message("Enhanced beta-likeness holds: no gain is above -log of the share in the file.")
            if self.enhanced
            else message(
                "For {n} the gain is above -log of the share in the file, so enhanced "
                "beta-likeness does not hold.",
                n=records,
            )
        )
        text = message(
            "Knowing the keys raises the probability of a value of {sensitive} by at most "
            "{beta} of its share in the file (beta = {value}). {enhanced} The limit is a "
            "decision of the office (Cao and Karras 2012).",
            sensitive=self.sensitive,
            beta=percent(self.beta, 1),
            value=number(self.beta),
            enhanced=enhanced,
        )
        return joined_by(" ", [text, *self.notes])


@same_library
def beta_likeness(
    data: Any,
    keys: Sequence[str] | None = None,
    sensitive: str | None = None,
    *,
    missing: str = "own-category",
) -> BetaLikeness:
    """Measure how much more likely a sensitive value becomes when the keys are known.

    Parameters
    ----------
    data, keys, sensitive
        The file and its roles: see `Microdata`.
    missing : str, default "own-category"
        Treatment of missing keys: see `frequency_counts`. By default a group are the records with
        the same key pattern, where missing is a category, as in sdcMicro.

    Returns
    -------
    BetaLikeness
        Missing sensitive values are left out. Nothing is drawn at random.

    Raises
    ------
    InputError

    Notes
    -----
    Cao and Karras (2012), doi:10.14778/2350229.2350255: basic likeness asks (p - q)/q <= beta for
    every value whose share p in a group is above its share q in the file, enhanced likeness
    (p - q)/q <= min(beta, -log q).

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"zip": [1, 1, 2, 2], "ill": ["flu", "flu", "flu", "HIV"]})
    >>> result = beta_likeness(data, ["zip"], "ill")
    >>> result.beta, result.enhanced
    (1.0, False)
    """
    faults = Faults("beta-likeness")
    file = as_file(data, faults, keys=keys, sensitive=sensitive, columns=())
    check_treatment(faults, missing)
    (variable,) = check_sensitive(faults, file, most=1)[:1] or ("",)
    faults.raise_if_any()
    gains = group_gains(key_table(file), file.codes(variable), missing, None)
    return BetaLikeness(
        beta=float(gains.gain.max()) if len(gains.gain) else 0.0,
        enhanced=not bool((gains.broken > 0).any()),
        gain=gains.gain,
        n_above_log=int((gains.broken > 0).sum()),
        keys=file.roles.keys,
        sensitive=variable,
        notes=category_notes(file.frame, [variable]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Gains:
    """Sensitive values in the group of each record; arrays of shape (n,)."""

    share: np.ndarray  # float64: largest share of a watched value
    gain: np.ndarray  # float64: largest relative gain (p - q) / q over the share q in the file
    broken: np.ndarray  # float64: largest gain among values whose gain is above -log q; 0 for none
    f: np.ndarray  # float64: size of the group


def group_gains(
    table: KeyTable,
    sensitive: Codes,
    missing: str,
    values: Sequence[Any] | None,
    whole: np.ndarray | None = None,
) -> Gains:
    """Shares and gains of sensitive values in the group of each record; `values` are watched.

    whole: sensitive codes of the file, where the table has a part of it
    """
    from riskeval.kernels.diversity import group_gain

    codes, levels = sensitive
    whole = codes if whole is None else whole
    counts = np.bincount(whole[whole >= 0], minlength=max(len(levels), 1))
    q = counts / max(counts.sum(), 1)
    watched = np.ones(len(q), dtype=bool)
    if values is not None:
        unknown = [value for value in values if value not in levels]
        if unknown:
            what, hint = f"{unknown[0]!r} does not occur", did_you_mean(unknown[0], levels)
            raise InputError.of("(alpha, k)-anonymity", "values", what, hint)
        watched[: len(levels)] = [level in set(values) for level in levels]

    def measure(segments: Segments) -> np.ndarray:
        gains = np.empty((len(segments.cells), 3))
        group_gain(*segments.arrays, q, watched, gains)
        return gains

    cells = per_cell(table, codes.astype(np.int64), len(q), missing, measure, 3)
    f, _ = match_counts(table, missing)
    share, gain, broken = cells[table.cell].T
    return Gains(share, gain, broken, f[table.cell])


BETA = person_risk(
    "beta_likeness", "beta", "value",
    "largest relative gain in the probability of a value when the keys are known",
    "Cao and Karras 2012", single=True,
)  # fmt: skip


def of_likeness(result: ByVariable, request: AssessRequest) -> list[Measurement]:
    """Largest gain of each sensitive variable."""
    return [
        request.measured(BETA, one.beta, target=name).noted(*one.notes)
        for name, one in result.by_variable.items()
    ]


MEASURE = Measure(
    name="beta_likeness",
    rank=120,
    title="beta-likeness",
    question="How much likelier can the key make a sensitive value?",
    blind_spots="values that become less likely; how secret a value is",
    source="Cao and Karras 2012",
    function=beta_likeness,
    run=lambda request: by_variable(request, beta_likeness, **request.arguments("beta_likeness")),
    measurements=of_likeness,
    needs=("sensitive",),
    options=("missing",),
    infos=(BETA,),
)
