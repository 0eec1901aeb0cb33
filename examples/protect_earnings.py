"""Protect a survey of earnings: risk and the numbers that are published, before and after.

The steps are those of Templ (2017), section 8.3, on the structure of earnings survey: keys are
recoded and suppressed, earnings are microaggregated and, for comparison, given correlated noise;
the Gini coefficient and the gender pay gap are then estimated from both files. The file itself is
INVENTED: it is drawn below from a seeded generator, every effect in it was made up, and no number
says anything about a country. Run it with ``python examples/protect_earnings.py [folder]``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from riskeval import ProtectionSession
from riskeval.protect import write_release
from synthpop.indicators import gender_pay_gap, gini

SEED = 83
ENTERPRISES = 600
EMPLOYEES = 8_000

# Name -> (share, effect on the logarithm of hourly earnings). All invented.
SIZES = {
    "10-49": (0.60, 0.0),
    "50-249": (0.26, 0.08),
    "250-499": (0.08, 0.14),
    "500-999": (0.04, 0.18),
    "1000+": (0.02, 0.25),
}
LOCATIONS = {
    "coast": (0.10, 0.0),
    "hills": (0.07, -0.06),
    "lakes": (0.13, 0.02),
    "plain": (0.25, 0.0),
    "capital": (0.30, 0.15),
    "valley": (0.15, -0.03),
}
PARTS = {"west": ["coast", "hills", "lakes"], "east": ["plain", "capital", "valley"]}
SECTIONS = {
    "C": (0.28, 0.05),
    "F": (0.12, 0.0),
    "G": (0.20, -0.08),
    "H": (0.10, -0.02),
    "I": (0.08, -0.30),
    "J": (0.07, 0.30),
    "K": (0.05, 0.35),
    "Q": (0.10, -0.05),
}
AGES = {
    "15-19": (0.04, -0.50),
    "20-29": (0.20, -0.22),
    "30-39": (0.26, 0.0),
    "40-49": (0.28, 0.10),
    "50-59": (0.18, 0.14),
    "60+": (0.04, 0.12),
}
EDUCATION = {
    "primary": (0.05, -0.18),
    "lower secondary": (0.17, -0.10),
    "upper secondary": (0.50, 0.0),
    "short tertiary": (0.13, 0.18),
    "university": (0.15, 0.38),
}
OCCUPATIONS = {
    "managers": (0.06, 0.45),
    "professionals": (0.14, 0.28),
    "technicians": (0.19, 0.16),
    "clerks": (0.15, 0.0),
    "sales and service": (0.16, -0.18),
    "craft": (0.14, -0.04),
    "machine operators": (0.09, -0.08),
    "elementary": (0.07, -0.28),
}


def draw(
    rng: np.random.Generator, levels: dict[str, tuple[float, float]], n: int, ordered: bool = False
) -> tuple[pd.Categorical, np.ndarray]:
    """Return n values of a classification, and the effect of each on the logarithm of earnings."""
    shares, effects = np.array(list(levels.values())).T
    codes = rng.choice(len(levels), size=n, p=shares / shares.sum())
    names = list(levels)
    drawn = np.array(names, dtype=object)[codes]
    return pd.Categorical(drawn, categories=names, ordered=ordered), effects[codes]


def invent() -> pd.DataFrame:
    """Return an invented file of employees in enterprises, one row per employee."""
    rng = np.random.default_rng(SEED)
    size, size_effect = draw(rng, SIZES, ENTERPRISES, ordered=True)
    location, location_effect = draw(rng, LOCATIONS, ENTERPRISES)
    section, section_effect = draw(rng, SECTIONS, ENTERPRISES)
    own_level = rng.normal(0.0, 0.15, ENTERPRISES)

    # Larger enterprises report more employees; each reports one at least.
    reported = np.array([1.0, 1.6, 2.4, 3.2, 4.5])[size.codes]
    more = rng.choice(ENTERPRISES, EMPLOYEES - ENTERPRISES, p=reported / reported.sum())
    at = np.sort(np.concatenate([np.arange(ENTERPRISES), more]))

    age, age_effect = draw(rng, AGES, EMPLOYEES, ordered=True)
    education, education_effect = draw(rng, EDUCATION, EMPLOYEES, ordered=True)
    occupation, occupation_effect = draw(rng, OCCUPATIONS, EMPLOYEES)
    female = rng.random(EMPLOYEES) < 0.42
    level = (
        2.45
        + (size_effect + location_effect + section_effect + own_level)[at]
        + (age_effect + education_effect + occupation_effect)
        - 0.18 * female
    )
    hourly = np.exp(rng.normal(level, 0.30)).round(2)
    part_time = rng.random(EMPLOYEES) < np.where(female, 0.40, 0.08)
    hours = np.where(part_time, rng.uniform(40, 130, EMPLOYEES), rng.normal(165, 8, EMPLOYEES))
    hours = hours.round(1)
    extra_months = rng.uniform(0.0, 2.5, EMPLOYEES)  # holiday and Christmas pay, bonuses
    drawn_one_in = np.array([90.0, 70.0, 50.0, 40.0, 30.0])[size.codes][at]
    return pd.DataFrame(
        {
            "enterprise": at + 1,
            "size": size[at],
            "location": location[at],
            "section": section[at],
            "sex": pd.Categorical(np.where(female, "female", "male")),
            "age": age,
            "education": education,
            "occupation": occupation,
            "hours_paid": hours,
            "hourly": hourly,
            "yearly": (hourly * hours * (12 + extra_months)).round(0),
            "weight": (drawn_one_in * rng.lognormal(0.0, 0.25, EMPLOYEES)).round(1),
        }
    )


def declare(file: pd.DataFrame) -> ProtectionSession:
    """Return a session with the roles of the columns.

    Employees of one enterprise share size and location, as members of a household do: whatever is
    suppressed of one could be read from a colleague. The enterprise is therefore declared as the
    household; its number leaves the file at the end. Weights must not tell the keys either; those
    of this file vary within every size class and know nothing of the location.
    """
    return ProtectionSession(
        file,
        keys=["size", "age", "location", "occupation"],
        numeric=["hourly", "yearly"],
        weights="weight",
        household="enterprise",
    )


def tell(session: ProtectionSession, what: str) -> None:
    """Print the numbers that decide about the next step."""
    now = session.risk().table["current"]
    below = " / ".join(f"{now[f'below_{k}']:,.0f}" for k in (2, 3, 5))
    back, again = now["below_3_after_recovery"], now["expected_reidentifications"]
    print(
        f"{what:<36}{below:>22} records below 2 / 3 / 5,{back:>4,.0f} below 3 after recovery,"
        f"{again:>7.1f} expected re-identified"
    )


def published(file: pd.DataFrame, enterprises: pd.Series) -> pd.DataFrame:
    """Return Gini (percent), overall and by location, and gender pay gap, with standard errors.

    Employees of one enterprise were drawn together, so enterprises are the sampled units.
    """
    inequality = gini(file["hourly"], file["weight"], by=file["location"])
    gap = gender_pay_gap(file["hourly"], file["weight"], gender=file["sex"])
    rows = ["Gini", *(f"Gini, {name}" for name in inequality.domains), "gender pay gap, %"]
    found = [result.with_variance(cluster=enterprises) for result in (inequality, gap)]
    values = [*found[0].values, 100 * found[1].value]
    errors = [*np.asarray(found[0].standard_errors), 100 * found[1].standard_error]
    return pd.DataFrame({"value": values, "error": errors}, index=rows)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    file = invent()
    print(f"An invented file: {len(file):,} employees, {file['enterprise'].nunique()} enterprises.")
    session = declare(file)
    tell(session, "Original")

    # Coarser keys first: they lower the risk of everybody, and less has to be suppressed.
    session.group_categories("size", groups={"250+": ["250-499", "500-999", "1000+"]})
    session.group_categories("location", groups=PARTS)
    tell(session, "Three sizes, two parts")
    grouped = session.data  # earnings as they were, locations as they will be

    # Importance 1 is kept longest: the location, by which numbers are published. Suppression that
    # takes colleagues for strangers is shown first: recovery gives away what it hides.
    importance = {"location": 1, "size": 2, "occupation": 3, "age": 4}
    session.local_suppression(
        k=3,
        importance={name: 5 - importance[name] for name in importance},
        household=None,
        weights=None,
    )
    tell(session, "Suppression of sizes, colleagues ignored")
    session.undo()
    suppressed = session.local_suppression(k=3, importance=importance)
    print(suppressed.summary())
    tell(session, "3-anonymity by local suppression")

    # The earnings: groups of at least five employees with the same values, or noise.
    enterprises = file["enterprise"]
    now = published(grouped, enterprises)
    compared = {"original": now["value"], "its standard error": now["error"]}
    for method in ("correlated noise", "microaggregation"):
        if method == "correlated noise":
            session.add_noise(method="correlated", level=0.1, seed=SEED)
        else:
            session.microaggregate(k=5, seed=SEED)
        loss = session.utility().table["current"]["numeric keys"]
        close = session.risk().table["current"]["interval_disclosure"]
        negative = int((session.data[["hourly", "yearly"]] < 0).any(axis=1).sum())
        print(
            f"{method:<36}IL1s {loss['IL1s']:.4f}, eigenvalues {loss['eigenvalues']:.4f}, "
            f"{close:.1%} of the records near the truth, {negative:,} with negative earnings"
        )
        # By the location in the protected file: a suppressed one would count only overall.
        compared[method] = published(session.data, enterprises)["value"]
        if method == "correlated noise":
            session.undo()
    print(pd.DataFrame(compared).round(3).to_string())

    # Groups are kept here: nobody is alone with a value, and what is published hardly moves. Noise
    # adds a tenth to the variance and so raises the Gini, and may make low earnings negative.
    print(session.history()[["step", "verb", "cells", "records"]].to_string(index=False))
    print(session.risk().summary())
    print(session.utility().summary())
    # Order, enterprise numbers and unused categories stay in the office.
    write_release(
        folder / "protected.parquet", session.data, household="enterprise", drop="enterprise"
    )
    session.save(folder / "session")
    script = folder / "repeat.py"
    script.write_text(session.to_script(source_path="session/original.parquet"), encoding="utf-8")
    session.report(folder / "internal.html")
    session.report(folder / "external.html", audience="external")
    print(f"Wrote the file, its history, the script and two reports to {folder}.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "protected-earnings"))
