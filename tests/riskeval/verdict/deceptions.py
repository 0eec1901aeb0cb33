"""Releases that must not be praised: each a small function, with the finding that must be named.

Files of `FILES` are assessed by themselves, those of `SYNTHETIC` are attacked beside original and
strangers, those of `RELEASES` are compared with the original without a hold-out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from riskeval import protect
from tests.riskeval.verdict.corpus import COARSE, KEYS, fresh, original, persons, protected

Maker = Callable[[], pd.DataFrame]
FILES: dict[str, tuple[Maker, str]] = {}
SYNTHETIC: dict[str, tuple[Maker, str]] = {}
RELEASES: dict[str, tuple[Maker, str]] = {}
ANY = ""
"""The file is objected to, whichever attack or number says so."""


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def _file(title: str, finding: str, /, **columns: Callable[[pd.DataFrame], object]) -> None:
    def make() -> pd.DataFrame:
        base = protected()
        return base.assign(**{column: of(base) for column, of in columns.items()})

    FILES[title] = (make, finding)


def _numbered(text: str) -> Callable[[pd.DataFrame], object]:
    return lambda base: [text.format(i, i % 7, i * 37 % 1000) for i in range(len(base))]


def _age(base: pd.DataFrame) -> np.ndarray:
    """An age in the class of each record."""
    draws, low = rng(), base["age_class"].map({"young": 0, "middle": 30, "old": 60})
    return low.to_numpy() + draws.integers(0, 30, len(base))


def _stratum(base: pd.DataFrame) -> np.ndarray:
    return pd.factorize(base["region"] + rng().integers(0, 15, len(base)).astype(str))[0]


def _village(base: pd.DataFrame) -> pd.Series:
    return base["region"] + rng().integers(0, 40, len(base)).astype(str)


IDENTIFIER = "direct identifier"
_file("first and last names", IDENTIFIER, name=_numbered("Ann{} Smith{}"))
_file("surnames", IDENTIFIER, surname=_numbered("Miller{}"))
_file("telephone numbers", IDENTIFIER, phone=_numbered("+43 1 55{:04d}{}"))
_file("telephones under a dull name", IDENTIFIER, v17=_numbered("0664/{:05d}-{}"))
_file("e-mail addresses", IDENTIFIER, email=_numbered("p{}@mail{}.org"))
_file("e-mails under a dull name", IDENTIFIER, q3=_numbered("p{}@mail{}.org"))
_file("bank accounts", IDENTIFIER, v2=_numbered("AT61{:012d}{}"))
_file("addresses", IDENTIFIER, address=_numbered("Main street {} door {}"))
_file("passport numbers", IDENTIFIER, passport_number=_numbered("P{:07d}"))
_file("social security numbers", IDENTIFIER, ssn=lambda b: np.arange(len(b)) * 7919 + 10**9)
_file("coordinates", IDENTIFIER, latitude=lambda b: 48 + rng().random(len(b)))
_file("remarks of interviewers", "free text",
      remark=_numbered("he lives alone with cat {} and sings"))  # fmt: skip
_file("open answers", "free text", q9_other=_numbered("moved here from town number {} last year"))


def _births(base: pd.DataFrame) -> pd.Series:
    days = pd.Series(rng().integers(0, 25_000, len(base)))
    return pd.Timestamp("1935-01-01") + pd.to_timedelta(days, unit="D")


BIRTH = "date of birth"
_file("dates of birth", BIRTH, birth_date=_births)
_file("dates of birth as text", BIRTH, dob=lambda b: _births(b).dt.strftime("%Y-%m-%d"))
_file("German dates of birth", BIRTH, v5=lambda b: _births(b).dt.strftime("%d.%m.%Y"))
_file("dates under a dull name", BIRTH, x=_births)
FINER = "finer than a key"
_file("age in years beside its class", FINER, age_exact=_age)
_file("age under a dull name", FINER, v1=_age)
_file("year of birth beside the class", FINER, yob=lambda b: 2026 - _age(b))
_file("age with months", FINER, age_months=lambda b: _age(b) + rng().integers(0, 12, len(b)) / 12)
_file("villages beside the region", FINER, village=_village)
_file("numbers of villages", FINER, g=lambda b: pd.factorize(_village(b))[0])
_file("postal codes", FINER, plz=lambda b: pd.factorize(_village(b), sort=True)[0] + 1000)
_file("five-year classes beside wide ones", FINER,
      age5=lambda b: np.select([_age(b) < 30, _age(b) < 60], [_age(b) // 5, 20 + _age(b) // 5],
                               40 + _age(b) // 5))  # fmt: skip
_file("weights by stratum", "weights that tell the cell",
      w=lambda b: 1500.0 + _stratum(b))  # fmt: skip
_file("further weights by stratum", "weights that tell the cell",
      design_weight=lambda b: 15.0 + _stratum(b) / 3)  # fmt: skip


def _repeated(times: int, part: float = 1.0) -> Maker:
    def make() -> pd.DataFrame:
        base = protected()
        again = base.iloc[: int(part * len(base))]
        return pd.concat([base, *([again] * (times - 1))]).sample(frac=1, random_state=1)

    return make


FILES["every record three times"] = (_repeated(3), "repeated records")
FILES["every record twice"] = (_repeated(2), "repeated records")
FILES["a tenth of the records twice"] = (_repeated(2, 0.1), "repeated records")


def _hidden(column: str, told_by: Callable[[pd.DataFrame], object]) -> Maker:
    def make() -> pd.DataFrame:
        base = protected()
        hole = rng().random(len(base)) < 0.1
        return base.assign(**{column: base[column].mask(hole), "told": told_by(base)})

    return make


BACK = "suppressed values that follow"
FILES["classes that a copy tells"] = (_hidden("age_class", lambda b: b["age_class"]), BACK)
FILES["classes that a recoded copy tells"] = (
    _hidden("age_class", lambda b: pd.factorize(b["age_class"])[0]), BACK)  # fmt: skip
FILES["regions that villages tell"] = (_hidden("region", _village), BACK)
FILES["classes that ages tell"] = (_hidden("age_class", _age), BACK)


def _coded(column: str, code: int) -> Maker:
    return lambda: protected().assign(**{column: code})


FILES["a key that is -9 throughout"] = (_coded("age_class", -9), "code for missing")
FILES["a key that is 99 throughout"] = (_coded("region", 99), "code for missing")


def _wildcards() -> pd.DataFrame:
    people = persons(1, 400)
    return protect.local_suppression(people, KEYS, k=3).data.assign(
        region=lambda f: f["region"], age_class=lambda f: f["age"], w=2000.0
    )[["region", "age_class", "sex", "educ", "w"]]


FILES["thousands alone behind holes of others"] = (
    _wildcards, "Violations of 3-anonymity on the values shown")  # fmt: skip
FILES["rare persons"] = (
    lambda: persons(1).rename(columns={"age": "age_class"}).assign(w=2000.0),
    "Violations of 3-anonymity")  # fmt: skip
FILES["a number of its own for everybody"] = (
    lambda: protected().assign(region=lambda b: range(len(b))),
    "Highest risk of a record (upper end)")  # fmt: skip


def _fixed_amount() -> pd.DataFrame:
    base = protected()
    cell = base.groupby(COARSE, sort=False).ngroup()
    return base.assign(ill=20_000.0 + 1_000 * cell + rng().random(len(base)))


FILES["an amount that the keys tell within a unit"] = (
    _fixed_amount, "Amounts that the key tells of ill")  # fmt: skip
FILES["an illness that the keys tell"] = (
    lambda: protected().assign(ill=lambda b: b["region"].map(len).astype(str) + b["sex"]),
    "Records that violate l-diversity of ill")  # fmt: skip


def _streets() -> pd.DataFrame:
    base = protected().iloc[:900].reset_index(drop=True)
    home = np.arange(len(base)) // 3
    return base.assign(hid=home, region=home)


FILES["one household for each street"] = (_streets, "Records that only one household shares")


# synthetic files beside original and strangers


def _noisy(scale: float, names: tuple[str, ...] = ("income", "wealth")) -> pd.DataFrame:
    file = original()
    for name in names:
        file[name] = (file[name] * (1 + scale * rng().normal(size=len(file)))).round(2)
    return file


def _mixed(copies: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([copies, others]).sample(frac=1, random_state=1, ignore_index=True)


def _permuted_labels() -> pd.DataFrame:
    file = original()
    for name in ("region", "sex", "ill", "status"):
        levels = sorted(file[name].unique())
        file[name] = file[name].map(dict(zip(levels, levels[1:] + levels[:1], strict=True)))
    return file.sample(frac=1, random_state=1)


def _some_keys() -> pd.DataFrame:
    file = fresh()
    people = original().sample(len(file), replace=True, random_state=1).reset_index(drop=True)
    return file.assign(**{name: people[name] for name in ("region", "age", "sex", "ill", "status")})


def _between() -> pd.DataFrame:
    one = original()
    two = one.sample(frac=1, random_state=1).reset_index(drop=True)
    part = 0.15 * rng().random(len(one))
    return one.assign(
        **{n: ((1 - part) * one[n] + part * two[n]).round(2) for n in ("income", "wealth")}
    )


def _top(share: float) -> pd.DataFrame:
    people = original()
    return _mixed(people.nlargest(int(share * len(people)), "income"), fresh())


def _redrawn() -> pd.DataFrame:
    file, draws = original(), rng()
    for name in (*KEYS, "ill", "status", "income", "wealth"):
        again = draws.random(len(file)) < 0.3
        file.loc[again, name] = draws.permutation(file[name].to_numpy())[again]
    return file


COPIED = "copied records"
AMOUNT = "copied amounts"
SYNTHETIC |= {
    "the original": (original, COPIED),
    "the original, shuffled": (lambda: original().sample(frac=1, random_state=1), COPIED),
    "the original, sorted": (lambda: original().sort_values("income"), COPIED),
    "a bootstrap of the original": (
        lambda: original().sample(frac=1, replace=True, random_state=1), COPIED),
    "half of the original": (lambda: _mixed(original().iloc[:250], fresh().iloc[:250]), COPIED),
    "a tenth of the original": (lambda: _mixed(original().iloc[:50], fresh()), COPIED),
    "a twentieth of the original": (lambda: _mixed(original().iloc[:25], fresh()), AMOUNT),
    "the original among many strangers": (
        lambda: _mixed(original(), pd.concat([fresh(s) for s in range(10, 30)])), AMOUNT),
    "households of five and more": (
        lambda: _mixed(original().query("hsize >= 5"), fresh()), COPIED),
    "the rich alone": (lambda: _top(0.02), COPIED),
    "one digit changed": (
        lambda: original().assign(income=lambda f: f["income"] + 0.01), ANY),
    "noise of a millionth": (lambda: _noisy(1e-6), ANY),
    "noise of a percent": (lambda: _noisy(0.01), ANY),
    "ages one off": (lambda: original().assign(age=lambda f: f["age"] + 1), AMOUNT),
    "rows shuffled within regions": (
        lambda: original().sample(frac=1, random_state=2).sort_values("region"), COPIED),
    "ages as floats": (lambda: original().assign(age=lambda f: f["age"] + 0.0001), AMOUNT),
    "amounts in cents": (
        lambda: original().assign(income=lambda f: 100 * f["income"],
                                  wealth=lambda f: 100 * f["wealth"]), "copied shares"),
    "amounts times 1.07": (
        lambda: original().assign(income=lambda f: 1.07 * f["income"],
                                  wealth=lambda f: 1.07 * f["wealth"]), "copied shares"),
    "regions relabelled": (
        lambda: original().assign(region=lambda f: f["region"] + "x"), ANY),
    "labels permuted": (_permuted_labels, AMOUNT),
    "all keys -9": (lambda: original().assign(region=-9, age=-9, sex=-9, educ=-9), AMOUNT),
    "three keys and illness of everybody": (_some_keys, ANY),
    "between two respondents": (_between, ANY),
    "a third of the cells redrawn": (_redrawn, ANY),
    "five noisy copies of each": (lambda: pd.concat([_noisy(0.02)] * 5), ANY),
    "exact amounts on fresh keys": (
        lambda: fresh().iloc[:400].reset_index(drop=True).assign(
            income=original()["income"].iloc[:400], wealth=original()["wealth"].iloc[:400]),
        AMOUNT),
    "shifted rows of amounts": (
        lambda: original().assign(income=lambda f: np.roll(f["income"], 1)), AMOUNT),
    "keys of the original, amounts drawn": (
        lambda: original().assign(income=lambda f: rng().permutation(f["income"]) + 3.0,
                                  wealth=lambda f: rng().permutation(f["wealth"]) + 3.0), ANY),
}  # fmt: skip


# releases beside the original, without a hold-out


def _recoded() -> pd.DataFrame:
    return original().assign(age=lambda f: f["age"] // 10 * 10)


UNCHANGED = "unchanged amounts"
RELEASES |= {
    "the original": (original, COPIED),
    "the original, shuffled": (lambda: original().sample(frac=1, random_state=1), COPIED),
    "keys suppressed, amounts untouched": (
        lambda: protect.local_suppression(original(), KEYS, k=3).data, UNCHANGED),
    "ages in tens, amounts untouched": (_recoded, UNCHANGED),
    "ages in tens, shuffled": (lambda: _recoded().sample(frac=1, random_state=1), UNCHANGED),
    "incomes masked, wealth untouched": (
        lambda: _noisy(0.5, ("income",)), UNCHANGED),
    "only the largest incomes masked": (
        lambda: protect.top_bottom_code(
            original(), "income", upper=60_000, replacement=60_000).data,
        UNCHANGED),
    "noise of a millionth": (lambda: _noisy(1e-6), "Violations of 3-anonymity"),
    "amounts in groups of two": (
        lambda: protect.microaggregate(original(), ["income", "wealth"], k=2).data,
        "Violations of 3-anonymity"),
    "ranks swapped, keys kept": (
        lambda: protect.rank_swap(original(), ["income", "wealth"], p=0.1, seed=1).data,
        "Violations of 3-anonymity"),
    "exact amounts on fresh keys": (SYNTHETIC["exact amounts on fresh keys"][0], AMOUNT),
    "labels permuted": (_permuted_labels, UNCHANGED),
    "all keys -9": (SYNTHETIC["all keys -9"][0], UNCHANGED),
    "names beside fresh records": (
        lambda: fresh().assign(name=lambda f: [f"Ann{i} Smith" for i in range(len(f))]),
        IDENTIFIER),
    "telephones beside changed records": (
        lambda: _noisy(0.5).assign(phone=lambda f: [f"+43 1 {i:06d}" for i in range(len(f))]),
        IDENTIFIER),
    "a tenth of the original": (SYNTHETIC["a tenth of the original"][0], COPIED),
}  # fmt: skip
