"""Files of amounts alone, as of enterprises: sessions, comparisons, plans and their pages."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

from riskeval import ProtectionSession, compare, protect, search_plans
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import survey_data

NAMES = ["sales", "staff", "profit"]


def firms(n=150):
    rng = np.random.default_rng(4)
    size = rng.lognormal(8, 1.5, n)
    columns = [size, size * rng.lognormal(-3, 0.3, n), size * rng.normal(0.1, 0.1, n)]
    return pd.DataFrame(np.round(np.column_stack(columns)), columns=NAMES)


def test_a_session_judges_linkage_and_says_which_amounts_stay():
    session = ProtectionSession(firms(), numeric=NAMES)
    assert session.verdict().fatal
    session.add_noise(level=0.001, seed=1)
    verdict = session.verdict()
    assert verdict.level == "exceeds your limits"
    assert "Record linkage" in verdict.summary()
    session.undo().microaggregate(k=15)
    assert session.risk().table.loc["record_linkage", "current"] < 0.18
    assert session.verdict().level.startswith("no objection")
    assert session.verdict({"record_risk": 0.001}).level == "exceeds your limits"
    assert "Whoever knows the true amounts of sales, staff and profit" in session.risk().summary()


def test_an_amount_that_nobody_named_speaks_against_the_file():
    session = ProtectionSession(firms(), numeric=NAMES[:2])
    session.microaggregate(k=15)
    assert session.verdict().evidence[0].columns == ("profit",)
    release = compare(firms(), {"a": session.data}, numeric=NAMES[:2], seed=1)
    assert release.verdicts["a"].evidence[0].columns == ("profit",)


@pytest.mark.parametrize("audience", ["internal", "external"])
def test_the_page_has_the_numbers_of_amounts(tmp_path, audience):
    session = ProtectionSession(firms(), numeric=NAMES)
    session.microaggregate(k=15)
    page = session.report(tmp_path / "a.html", audience).read_text(encoding="utf-8")
    assert "Record linkage" in page
    assert "Expected re-identifications" not in page
    again = ProtectionSession.load(session.save(tmp_path / "session"))
    pd.testing.assert_frame_equal(again.data, session.data)


def test_plans_of_amounts_meet_the_limit_of_linkage():
    session = ProtectionSession(firms(), numeric=NAMES)
    found = search_plans(session, plans=30, seed=1)
    assert found.limits["record_linkage"] == 0.18
    found.apply(session)
    assert session.risk().table.loc["record_linkage", "current"] <= 0.18
    with pytest.raises(InputError, match="cells_lost"):
        search_plans(session, limits={"cells_lost": 0.1}, plans=1)


def test_keys_or_amounts_must_be_named():
    with pytest.raises(InputError, match="Name at least one key, or numeric keys"):
        ProtectionSession(firms())


def test_releases_side_by_side():
    data = firms()
    rng = np.random.default_rng(9)
    model = np.exp(rng.multivariate_normal(
        np.log(data[["sales", "staff"]] + 1).mean(), np.log(data[["sales", "staff"]] + 1).cov(), 150
    ))  # fmt: skip
    releases = {
        "copy": data, "noise": protect.add_noise(data, NAMES, level=0.001, seed=1),
        "groups": protect.microaggregate(data, NAMES, k=15),
        "much noise": protect.add_noise(data, NAMES, level=4.0, seed=1),
        "model": pd.DataFrame(model, columns=["sales", "staff"]).assign(profit=1.0),
    }  # fmt: skip
    found = compare(data, releases, numeric=NAMES, seed=1)
    levels = {name: one.level for name, one in found.verdicts.items()}
    assert levels["copy"] == "do not publish"
    assert levels["noise"] == "exceeds your limits"
    assert found.table.loc["much noise", "record_linkage"] > 0  # its rows are known
    assert levels["groups"].startswith("no objection")
    assert found.table.loc["model", "kind"] == "synthetic"
    assert levels["model"] == "cannot judge"  # no hold-out, and no records to be linked
    assert found.table.loc["model", "close"] < 0.2
    assert "on the amounts sales, staff, profit" in found.summary()


METHODS = {
    **{f"microaggregate {one}": partial(protect.microaggregate, method=one, k=3)
       for one in ("individual", "single", "mdav", "pca", "robust-pca", "cluster")},
    "additive": partial(protect.add_noise, level=0.5),
    "correlated": partial(protect.add_noise, method="correlated2", level=0.5),
    "swapped": partial(protect.rank_swap, p=0.1),
}  # fmt: skip


def test_the_example_of_valtable_runs():
    data = survey_data("Tarragona").iloc[99:200].reset_index(drop=True)
    names = list(data)
    releases = {name: method(data, names, seed=1) for name, method in METHODS.items()}
    found = compare(data, releases, numeric=names, seed=1)
    assert (
        found.table.loc[list(METHODS), ["record_linkage", "il1s", "eigenvalues"]]
        .notna()
        .all()
        .all()
    )
    assert (
        found.table.loc["microaggregate mdav", "record_linkage"]
        < found.table.loc["microaggregate individual", "record_linkage"]
    )
