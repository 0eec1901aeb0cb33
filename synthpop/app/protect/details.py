"""Details of risk and utility: each is a public function, its sentence and its table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from synthpop.app.jobs import BackgroundJob, JobRequest
from synthpop.app.protect.session import session_of
from synthpop.app.tables import MOST_ROWS, plain_table, shown_result
from synthpop.app.texts import t

if TYPE_CHECKING:
    import pandas as pd

    from riskeval.session.session import ProtectionSession
    from synthpop.app.protect.state import FileRoles

Detail = Callable[["ProtectionSession", "FileRoles", dict[str, Any]], dict[str, Any]]


def violators(session: ProtectionSession, roles: FileRoles, arguments: dict[str, Any]) -> Any:
    """Records that fewer than k records share their keys with."""
    from riskeval.measures.k_anonymity import k_anonymity
    from synthpop.microdata.messages.text import count

    k = int(arguments.get("k", 3))
    result = k_anonymity(session.data, list(roles.keys), k=k, weights=roles.weights)
    rows = _with_keys(session.individual_risk().to_frame(), session, roles)
    below = rows[rows["f"] < k].sort_values("f", kind="stable")
    text = t("Records below {k}: {n}.", k=k, n=count(len(below)))
    return {"texts": [result.summary(), text], "tables": [_records(below, roles)]}


def risky(session: ProtectionSession, roles: FileRoles, arguments: dict[str, Any]) -> Any:
    """Records by their individual risk, the highest first."""
    risk = session.individual_risk()
    rows = _with_keys(risk.to_frame(), session, roles)
    ranked = rows.sort_values("risk", ascending=False, kind="stable")
    return shown_result(risk, _records(ranked, roles))


def _with_keys(table: pd.DataFrame, session: ProtectionSession, roles: FileRoles) -> pd.DataFrame:
    return table.assign(**{name: session.data[name] for name in roles.keys})


def _records(rows: pd.DataFrame, roles: FileRoles) -> dict[str, Any]:
    listed = rows[[*roles.keys, *(c for c in rows.columns if c not in roles.keys)]]
    names = {"risk": t("Risk"), "f": t("Sample count"), "F": t("Population count"),
             "household_risk": t("Household risk")}  # fmt: skip
    table = listed.rename(columns=names)
    table.insert(0, t("Row"), [str(row + 1) for row in rows.index])
    return plain_table(table)


def records(session: ProtectionSession, roles: FileRoles, arguments: dict[str, Any]) -> Any:
    """Records as they are now, a page of them from the one that is asked for."""
    from synthpop.microdata.messages.text import count

    n = len(session.data)
    first = min(max(1, int(arguments.get("first") or 1)), n)
    page = session.data.iloc[first - 1 : first - 1 + MOST_ROWS]
    rows = [str(row) for row in range(first, first + len(page))]
    table = plain_table(page.reset_index(drop=True))
    table["head"] = [t("Row"), *table["head"]]
    table["numbers"] = [True, *table["numbers"]]
    table["rows"] = [[row, *cells] for row, cells in zip(rows, table["rows"], strict=True)]
    text = t("Records {first} to {last} of {n}.", first=rows[0], last=rows[-1], n=count(n))
    return {"texts": [text], "tables": [table]}


def suda(session: ProtectionSession, roles: FileRoles, arguments: dict[str, Any]) -> Any:
    """SUDA: which keys single records out."""
    from riskeval.measures.suda import suda as special_uniques

    result = special_uniques(session.data, list(roles.keys), **arguments)
    scores = _with_keys(result.to_frame(), session, roles)
    ranked = scores.sort_values("score", ascending=False, kind="stable")
    heads = {"variable": t("variable"), "contribution": t("contribution"),
             "score": t("score"), "dis_score": t("dis_score")}  # fmt: skip
    return shown_result(
        result,
        plain_table(result.attribute_contribution.rename(columns=heads)),
        plain_table(ranked[[*roles.keys, "score", "dis_score"]].rename(columns=heads)),
    )


def diversity(session: ProtectionSession, roles: FileRoles, arguments: dict[str, Any]) -> Any:
    """l-diversity of the sensitive variables."""
    from riskeval.measures.l_diversity import l_diversity

    result = l_diversity(session.data, list(roles.keys), list(roles.sensitive), **arguments)
    table = result.to_frame()
    ranked = _with_keys(table, session, roles).sort_values(table.columns[0], kind="stable")
    return shown_result(result, plain_table(ranked[[*roles.keys, *table.columns]]))


def numeric(session: ProtectionSession, roles: FileRoles, arguments: dict[str, Any]) -> Any:
    """Risk of the numeric keys: values that are too near, records that link, outliers."""
    from riskeval.measures.interval_disclosure import interval_disclosure
    from riskeval.measures.linkage.linkage import record_linkage
    from riskeval.measures.outlier_risk import outlier_risk

    names = list(roles.numeric)
    original, current = session.original_of_current(), session.data
    texts = [interval_disclosure(original, current, names, **arguments).summary()]
    if len(current) <= 20_000:
        texts.append(record_linkage(original, current, names).summary())
    texts.append(outlier_risk(current, names).summary())
    return {"texts": texts, "tables": []}


def recovery(session: ProtectionSession, roles: FileRoles, arguments: dict[str, Any]) -> Any:
    """What an intruder reads back of the values that were suppressed."""
    from riskeval.recovery.recover import recover

    result = recover(
        session.data,
        original=session.original_of_current(),
        household=roles.household,
        weights=roles.weights,
        strata=list(roles.strata) or None,
        keys=list(roles.keys),
        household_variables=list(roles.household_variables),
    )
    return shown_result(result, plain_table(result.to_frame()))


def suppressions(session: ProtectionSession, roles: FileRoles, arguments: dict[str, Any]) -> Any:
    """Missing values by variable, original beside current."""
    from riskeval.utility import missing_loss

    result = missing_loss(session.original_of_current(), session.data, rows="paired")
    return shown_result(result, plain_table(result.to_frame()))


def loss(session: ProtectionSession, roles: FileRoles, arguments: dict[str, Any]) -> Any:
    """Information loss of the numeric keys."""
    from riskeval.utility import information_loss

    result = information_loss(
        session.original_of_current(), session.data, list(roles.numeric), rows="paired"
    )
    return shown_result(result, plain_table(result.to_frame()))


def pair(session: ProtectionSession, roles: FileRoles, arguments: dict[str, Any]) -> Any:
    """Tables and pictures of one or two variables, before and after."""
    from synthpop.app.protect.pictures import before_and_after

    names = [str(name) for name in arguments.get("variables", []) if name]
    return before_and_after(session, list(dict.fromkeys(names)))


def steps(session: ProtectionSession, roles: FileRoles, arguments: dict[str, Any]) -> Any:
    """What each step changed."""
    return {"texts": [], "tables": [plain_table(session.history())]}


def _job(detail: Detail, title: str) -> BackgroundJob:
    def run(request: JobRequest) -> Any:
        state = request.project.protect
        return detail(session_of(request.workspace, state), state.roles, request.arguments)

    return BackgroundJob(run, title)


DETAILS: dict[str, BackgroundJob] = {
    "violators": _job(violators, "Counting records that share their keys"),
    "risky": _job(risky, "Listing risky records"),
    "records": _job(records, "Listing the records"),
    "suda": _job(suda, "Looking for special uniques"),
    "diversity": _job(diversity, "Measuring l-diversity"),
    "numeric": _job(numeric, "Measuring the risk of numbers"),
    "recovery": _job(recovery, "Attacking the suppressed values"),
    "suppressions": _job(suppressions, "Counting missing values"),
    "loss": _job(loss, "Measuring the information loss"),
    "pair": _job(pair, "Drawing pictures"),
    "steps": _job(steps, "Listing the steps"),
}
