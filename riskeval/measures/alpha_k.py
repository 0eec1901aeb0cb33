"""(alpha, k)-anonymity: sensitive values that dominate a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.table import check_treatment, key_table
from riskeval.measures.beta_likeness import group_gains
from riskeval.measures.entry import Measure, by_variable, person_risk
from riskeval.measures.request import AssessRequest, ByVariable
from riskeval.measures.sensitive_groups import category_notes, check_sensitive
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.parameters import Between, Whole, check
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, formatted, percent, plural
from synthpop.microdata.roles.microdata import as_file


@dataclass(frozen=True, slots=True, eq=False)
class AlphaKAnonymity(Result):
    """Rare keys and dominant sensitive values together.

    Attributes
    ----------
    holds : bool
        Whether every group has at least k records and no watched value has more than the share
        alpha in it.
    alpha, k : float, int
        What was asked for.
    share : float64 array, shape (n,)
        Largest share of a watched value in the group of each record.
    f : float64 array, shape (n,)
        Size of the group of each record.
    largest_share : float
        Smallest alpha that the file satisfies.
    n_rare, n_dominated, n_violating : int
        Records with f < k, with share > alpha, with either.
    keys : tuple of str
    sensitive : str
    notes : tuple of str
        What to check before the numbers are used.
    """

    holds: bool
    alpha: float
    k: int
    share: np.ndarray
    f: np.ndarray
    largest_share: float
    n_rare: int
    n_dominated: int
    n_violating: int
    keys: tuple[str, ...]
    sensitive: str
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """One row per record: `f` and `share`."""
        return pd.DataFrame({"f": self.f, "share": self.share})

    def summary(self) -> str:
        """Return how many records violate either condition."""
        text = message(
            "({alpha}, {k})-anonymity holds: {n_rare} of {n} records are in groups of "
            "fewer than {k}, and {n_dominated} in groups in which one value of {sensitive} "
            "has more than {alpha_2} of the records. The most dominant value of a group "
            "has {largest_share}. Alpha and k are chosen by the office (Wong et al. 2006)."
            if self.holds
            else "({alpha}, {k})-anonymity does not hold: {n_rare} of {n} records are in groups "
            "of fewer than {k}, and {n_dominated} in groups in which one value of "
            "{sensitive} has more than {alpha_2} of the records. The most dominant value "
            "of a group has {largest_share}. Alpha and k are chosen by the office (Wong et "
            "al. 2006).",
            alpha=formatted(self.alpha, "g"),
            k=self.k,
            n_rare=count(self.n_rare),
            n=count(len(self.f)),
            n_dominated=count(self.n_dominated),
            sensitive=self.sensitive,
            alpha_2=percent(self.alpha, 0),
            largest_share=percent(self.largest_share, 1),
        )
        return joined_by(" ", [text, *self.notes])


@same_library
def alpha_k_anonymity(
    data: Any,
    keys: Sequence[str] | None = None,
    sensitive: str | None = None,
    *,
    alpha: float,
    k: int,
    values: Sequence[Any] | None = None,
    missing: str = "own-category",
) -> AlphaKAnonymity:
    """Check that groups are large and that no sensitive value dominates them.

    Parameters
    ----------
    data, keys, sensitive
        The file and its roles: see `Microdata`.
    alpha : float
        Largest share of a sensitive value in a group, from 0 to 1.
    k : int
        Smallest group, at least 1.
    values : sequence, optional
        Sensitive values to watch; all of them when not given.
    missing : str, default "own-category"
        Treatment of missing keys: see `frequency_counts`. By default a group are the records with
        the same key pattern, where missing is a category, as in sdcMicro.

    Returns
    -------
    AlphaKAnonymity
        Shares are of the records with a sensitive value. Nothing is drawn at random.

    Raises
    ------
    InputError

    Notes
    -----
    Wong, Li, Fu and Wang (2006), doi:10.1145/1150402.1150499.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"zip": [1, 1, 2, 2], "ill": ["HIV", "flu", "HIV", "HIV"]})
    >>> result = alpha_k_anonymity(data, ["zip"], "ill", alpha=0.5, k=2, values=["HIV"])
    >>> result.holds, result.n_dominated, result.largest_share
    (False, 2, 1.0)
    """
    faults = Faults("(alpha, k)-anonymity")
    file = as_file(data, faults, keys=keys, sensitive=sensitive, columns=())
    check_treatment(faults, missing)
    (variable,) = check_sensitive(faults, file, most=1)[:1] or ("",)
    check(faults, {"alpha": Between(0, 1), "k": Whole(1)}, {"alpha": alpha, "k": k})
    faults.raise_if_any()
    gains = group_gains(key_table(file), file.codes(variable), missing, values)
    rare = gains.f < k
    dominated = gains.share > alpha * (1 + 1e-12)
    return AlphaKAnonymity(
        holds=not bool((rare | dominated).any()),
        alpha=float(alpha),
        k=int(k),
        share=gains.share,
        f=gains.f,
        largest_share=float(gains.share.max()) if len(gains.share) else 0.0,
        n_rare=int(rare.sum()),
        n_dominated=int(dominated.sum()),
        n_violating=int((rare | dominated).sum()),
        keys=file.roles.keys,
        sensitive=variable,
        notes=category_notes(file.frame, [variable]),
    )


DOMINANCE = person_risk(
    "alpha_k_anonymity", "Largest share of a value", "share",
    "largest share of one value in a group", "Wong et al. 2006", single=True,
)  # fmt: skip


def _run_dominance(request: AssessRequest) -> ByVariable:
    arguments = request.arguments(
        "alpha_k_anonymity", alpha=request.limits.alpha, k=request.limits.k or 1
    )
    return by_variable(request, alpha_k_anonymity, **arguments)


def of_dominance(result: ByVariable, request: AssessRequest) -> list[Measurement]:
    """Largest share of each sensitive variable."""
    return [
        request.measured(
            DOMINANCE,
            one.largest_share,
            target=name,
            limit=one.alpha,
            limit_source=message("as asked"),
            note=message(
                "{n_violating} ({alpha}, {k})-anonymity",
                n_violating=plural(one.n_violating, "record violates", "records violate"),
                alpha=formatted(one.alpha, "g"),
                k=one.k,
            ),
        ).noted(*one.notes)
        for name, one in result.by_variable.items()
    ]


MEASURE = Measure(
    name="alpha_k_anonymity",
    rank=140,
    title="(alpha, k)-anonymity",
    question="Does one sensitive value dominate a group?",
    blind_spots="several values together (two illnesses of one kind), each below alpha",
    source="Wong et al. 2006",
    function=alpha_k_anonymity,
    run=_run_dominance,
    measurements=of_dominance,
    needs=("sensitive", "alpha"),
    options=("values", "missing"),
)
