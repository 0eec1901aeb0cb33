"""Protect a file from end to end: look at the risk, recode, suppress, perturb, look again.

The embedded demo survey (invented households in the shape of EU-SILC) is anonymised in the order
of the worked examples in Templ (2017), sections 8.2 and 8.3: keys are recoded before values are
suppressed, incomes are perturbed, a variable that is no key is post-randomised. What suppression
hides is attacked from the other members of a household, its number of rows and the weights. Run it
with ``python examples/protect_a_file.py [folder]``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from riskeval import ProtectionSession, recover
from riskeval.protect import write_release
from synthpop import load_demo_survey

SEED = 20


def declare() -> ProtectionSession:
    """Return a session on the demo survey with the roles of its columns."""
    return ProtectionSession(
        load_demo_survey().frame,
        keys=["db040", "hsize", "age", "rb090", "pl030", "pb220a"],
        numeric=["netIncome", "hincome"],
        weights="rb050",
        household="db030",
        sensitive=["pb190"],
        pram=["pe040"],
    )


def tell(session: ProtectionSession, what: str) -> None:
    """Print the numbers that decide about the next step."""
    now = session.risk().table["current"]
    print(
        f"{what:<38}{now['below_3']:>8,.0f} records below 3"
        f"{now['below_3_after_recovery']:>8,.0f} after recovery"
        f"{now['expected_reidentifications']:>9.1f} expected re-identifications"
    )


def as_if_members_were_strangers(session: ProtectionSession, importance: dict[str, int]) -> None:
    """Show what suppression that knows no households gives away, and take it back."""
    before = session.data
    session.local_suppression(
        k=3, importance=importance, household=None, weights=None, household_variables=[]
    )
    tell(session, "Suppression without households")
    attack = recover(
        session.data,
        household=session.roles.household,
        weights=session.roles.weights,
        original=before,
        keys=session.roles.keys,
    )
    print(attack.summary())
    session.undo()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    session = declare()
    tell(session, "Original")

    # Coarser keys first: they lower the risk of everybody, and less has to be suppressed.
    session.global_recode("age", breaks=[0, 15, 29, 44, 64, 120])
    session.top_bottom_code("hsize", upper=6, replacement=6)
    tell(session, "Age in five classes, size up to 6")

    # What still is rare is set to missing, in columns of low importance before others. A region
    # that is missing for one member stands beside the others, a household size can be counted,
    # and a weight tells both: first the mistake, then the step that is checked by the attack.
    importance = dict(zip(session.roles.keys, (3, 5, 2, 1, 4, 6), strict=True))
    as_if_members_were_strangers(session, importance)
    suppressed = session.local_suppression(k=3, importance=importance)
    print(suppressed.summary())
    tell(session, "3-anonymity by local suppression")

    # Incomes: groups of at least three persons with the same values, or noise. Both are tried.
    for method, level in (("microaggregation", None), ("correlated noise", 0.1)):
        if level is None:
            session.microaggregate(k=3, seed=SEED)
        else:
            session.add_noise(method="correlated", level=level, seed=SEED)
        loss = session.utility().table.loc[("numeric keys", "IL1s"), "current"]
        close = session.risk().table.loc["interval_disclosure", "current"]
        print(f"{method:<38}IL1s {loss:.4f}, {close:.1%} of the values near the truth")
        session.undo()

    # Noise of a tenth of the variance hides every value but moves all of them; groups move little
    # and leave nearly all values near the truth. But nobody is alone with a value: each is shared
    # by members of three households, and the income of a household is that of three. The keys are
    # 3-anonymous: groups are kept. Another office may well decide for the noise.
    session.microaggregate(k=3, seed=SEED)
    session.pram(seed=SEED)
    tell(session, "Incomes in threes, education by PRAM")

    print(session.history()[["step", "verb", "cells", "records"]].to_string(index=False))
    print(session.risk().summary())
    print(session.utility().summary())
    # The file leaves the house without its order, its household numbers and unused categories.
    write_release(folder / "protected.parquet", session.data, household="db030")
    session.save(folder / "session")
    script = folder / "repeat.py"
    script.write_text(session.to_script(source_path="session/original.parquet"), encoding="utf-8")
    session.report(folder / "internal.html")
    session.report(folder / "external.html", audience="external")
    print(f"Wrote the file, its history and two reports to {folder}.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "protected-file"))
