"""Numbers printed in Templ (2017), section 8.3 and Tables 5.1 to 5.5.

Tables 5.1 to 5.5 were made from the confidential survey of about 200,000 employees; section 8.3
from the synthetic file of 15,691 employees that is public. `REFERENCE` holds what a current
version of the book's programs prints for section 8.3, where it differs from the book or the book
has nothing.
"""

from __future__ import annotations

import pandas as pd

RELEASES = ("rec+ls+ma", "rec+ls+noise", "pram+ma", "rec+ls+shuffle")
EDUCATION = ["ISCED 0 and 1", "ISCED 2", "ISCED 3 and 4", "ISCED 5A", "ISCED 5B"]
AGES = ["(0,19]", "(19,29]", "(29,39]", "(39,49]", "(49,59]", "(59,120]"]


def _table(index: list[str] | tuple[str, ...], columns: list[str], text: str) -> pd.DataFrame:
    rows = [[float(cell) for cell in line.split()] for line in text.strip().splitlines()]
    return pd.DataFrame(rows, index=list(index), columns=columns)


# Lower and upper limits of the gender pay gap by education.
TABLE_51 = _table(
    [f"{name} ({end})" for name in ("original", *RELEASES) for end in "lu"],
    EDUCATION,
    """
    0.15938 0.12102 0.22572 0.29568 0.21744
    0.26525 0.15023 0.23944 0.35010 0.25835
    0.16123 0.12144 0.22624 0.28891 0.21290
    0.27062 0.15211 0.23970 0.34381 0.25904
    0.17012 0.12106 0.22399 0.29135 0.21152
    0.27011 0.15172 0.23776 0.34551 0.25805
    0.17682 0.12200 0.22554 0.29064 0.21946
    0.27230 0.15065 0.24197 0.33822 0.26172
    -0.01865 0.09365 0.18510 0.19294 0.19859
    0.24584 0.12496 0.20950 0.25071 0.26183
    """,
)

# Percent of agreement of the intervals of both files: gender pay gap by education, and by age.
TABLE_52 = _table(
    RELEASES,
    EDUCATION,
    """
    98.25 98.55 96.21 88.45 88.65
    89.85 99.86 87.81 91.58 99.26
    83.52 96.63 83.45 78.18 95.08
    81.67 13.51 0.00 0.00 64.67
    """,
)
TABLE_53 = _table(
    RELEASES,
    AGES,
    """
    98.81 76.40 99.28 82.41 95.82 91.45
    94.90 80.27 94.31 89.60 89.70 96.76
    84.26 88.92 95.02 88.55 92.58 86.94
    0.00 32.75 0.00 0.00 0.00 0.00
    """,
)

# The same for the Gini coefficient by age and sex.
TABLE_54 = _table(
    RELEASES,
    [f"{age}:{sex}" for age in AGES for sex in "fm"],
    """
    93.64 81.66 96.83 94.93 89.24 95.63 84.69 75.33 99.21 94.59 95.40 92.22
    52.71 0.00 22.12 37.18 63.09 87.92 88.49 83.07 80.52 89.70 93.94 96.03
    88.29 82.49 88.39 93.05 85.36 94.50 97.89 85.00 96.78 82.25 88.31 94.94
    82.61 0.00 0.00 0.00 20.38 0.00 12.55 55.93 0.00 0.00 0.00 0.00
    """,
)

# Coefficients of the regression of log hourly earnings; reference: women, to 19, ISCED 0 and 1,
# location AT1, mining.
TABLE_55 = _table(
    ["(Intercept)", "sex=male", *(f"age={age}" for age in AGES[1:]),
     *(f"education={level}" for level in ("ISCED 2", "ISCED 3 and 4", "ISCED 5A", "ISCED 5B")),
     "location=AT2", "location=AT3", *(f"NACE1={letter}" for letter in "DEFGHIJKMNO")],
    ["original", *RELEASES],
    """
    1.50454 1.52627 1.51374 1.40474 1.63726
    0.20478 0.20484 0.20433 0.20970 0.19733
    0.57210 0.57190 0.58560 0.57659 0.76536
    0.73750 0.73745 0.75186 0.74388 0.91469
    0.81758 0.81746 0.83260 0.82634 0.96199
    0.85660 0.85597 0.87072 0.86754 0.89338
    0.81553 0.81067 0.82604 0.82169 0.49264
    0.03692 0.02006 0.01011 0.03834 -0.25102
    0.28314 0.26646 0.25737 0.28667 -0.16874
    0.73406 0.71508 0.70647 0.74198 0.09813
    0.44484 0.42802 0.41959 0.45337 -0.01251
    -0.07516 -0.07523 -0.07528 -0.06368 -0.00673
    -0.01230 -0.01207 -0.01132 -0.00900 -0.00098
    -0.05542 -0.06029 -0.05441 0.01740 -0.01600
    0.09709 0.09018 0.09264 0.12244 -0.02588
    -0.12280 -0.12891 -0.12260 -0.03775 -0.01806
    -0.18916 -0.19422 -0.18848 -0.09872 -0.02576
    -0.37478 -0.37962 -0.37589 -0.24398 -0.02269
    -0.17130 -0.17632 -0.17061 -0.07943 -0.00939
    0.14921 0.14532 0.15055 0.19273 -0.01993
    -0.13433 -0.13901 -0.13517 -0.05156 -0.02072
    -0.16289 -0.16650 -0.16300 -0.07845 -0.02505
    -0.11299 -0.11734 -0.11360 -0.02939 -0.01838
    -0.19113 -0.19585 -0.19353 -0.10283 -0.01054
    """,
)  # fmt: skip

DOMAINS = ["all", *EDUCATION]


def _by_education(*values: float) -> dict[str, float]:
    return dict(zip(DOMAINS, values, strict=True))


# Section 8.3: Gini and gender pay gap, overall and by education, of the original file and of the
# protected one (microaggregation and correlated noise).
GINI = _by_education(28.54445, 28.32054, 30.07743, 25.64211, 26.73128, 23.61221)
PAY_GAP = _by_education(0.2517759, 0.02347578, 0.21265286, 0.22974069, 0.23323499, 0.18445275)
GINI_PROTECTED = _by_education(28.61509, 28.56205, 30.25512, 25.82539, 26.18269, 23.74283)
PAY_GAP_PROTECTED = _by_education(
    0.2502994, 0.06304426, 0.21061860, 0.23000629, 0.22003603, 0.18317083
)
GINI_INTERVAL = (29.77703, 31.44414)
GINI_INTERVAL_PROTECTED = (29.85012, 31.46251)

# Regression of log hourly earnings: estimate and standard error, original and protected file.
REGRESSION = pd.DataFrame(
    [
        ("(Intercept)", 0.6431, 0.1078, 0.737627, 0.104833),
        ("location=AT2", -0.08154, 0.01225, -0.070983, 0.011458),
        ("location=AT3", -0.03272, 0.00996, -0.025082, 0.009308),
        ("size=E10_49", -0.1956, 0.01398, -0.184085, 0.013083),
        ("size=E250_499", 0.02206, 0.01602, 0.022159, 0.014994),
        ("size=E500_999", 0.0002019, 0.0146, 0.004930, 0.013653),
        ("size=E50_249", -0.05179, 0.01385, -0.047462, 0.012957),
        ("sex=male", 0.2561, 0.009037, 0.251458, 0.008448),
        ("age=(15,29]", 0.7221, 0.06602, 0.739209, 0.067322),
        ("age=(29,39]", 1.040, 0.06622, 1.041110, 0.067487),
        ("age=(39,49]", 1.144, 0.0661, 1.135229, 0.067385),
        ("age=(49,59]", 1.214, 0.06648, 1.201471, 0.067714),
        ("age=(59,120]", 1.104, 0.07589, 1.101253, 0.075925),
        ("education=ISCED 2", 0.3563, 0.08557, 0.293266, 0.080757),
        ("education=ISCED 3 and 4", 0.7393, 0.08516, 0.647399, 0.080376),
        ("education=ISCED 5A", 1.146, 0.08684, 1.052662, 0.081926),
        ("education=ISCED 5B", 0.9197, 0.08762, 0.828768, 0.082642),
    ],
    columns=["term", "original", "error", "protected", "error protected"],
).set_index("term")
R_SQUARED = (0.2804, 0.286)

# Section 8.3, risk and information loss: printed.
SECTION_83 = {
    "below 2": 243.0,
    "below 3": 509.0,
    "below 5": 1055.0,
    "records of higher risk": 547.0,
    "expected re-identifications": 298.49,
    "below 5, suppressed": 394.0,
    "records of higher risk, suppressed": 150.0,
    "expected re-identifications, suppressed": 165.29,
    "interval disclosure, groups of 5": 0.9702,
    "IL1, groups of 5": 0.03,
    "eigenvalues, groups of 5": 0.0152,
    "interval disclosure, noise": 0.5991,
    "IL1, noise": 0.12,
    "eigenvalues, noise": 0.0045,
}
# What the current version of the book's programs gives.
REFERENCE = {
    **{name: SECTION_83[name] for name in list(SECTION_83)[:5]},
    "cells suppressed": 513.0,
    "below 5, suppressed": 22.0,
    "records of higher risk, suppressed": 41.0,
    "expected re-identifications, suppressed": 114.54,
    "interval disclosure, groups of 5": 0.9245,
    "IL1, groups of 5": 0.013215673,
    "eigenvalues, groups of 5": 0.015150948,
    "eigenvalues, noise": 0.0080,
    "Gini": 29.443673,
    "gender pay gap": 0.24136589,
}
