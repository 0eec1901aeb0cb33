"""What an intruder knows, whom they look for and what counts as success: one record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.message import joined_by, message, sentences
from synthpop.microdata.messages.parameters import check_choice, is_number
from synthpop.microdata.messages.text import join, short_percent

ACCURACY = (0.01, 0.02, 0.05)
UNITS = ("person", "household")
WHO = ("sample uniques", "everyone")
MEMBERS = ("any", "every")


@dataclass(frozen=True, slots=True)
class Scenario:
    """An intruder: what they know, whom they look for, what counts as success.

    Parameters
    ----------
    keys : str or sequence of str
        Columns that the intruder knows of the persons they look for. All count as categorical.
    targets : str or sequence of str
        Columns they want to learn. None for measures that need keys only.
    key_errors : mapping of key to probability in [0, 1), or pairs
        Probability that the intruder's value of this key is wrong. A wrong value is another level
        of the key, drawn in proportion to how often the levels occur in the sample; a missing
        value stays missing. Keys that are not named are known without error.
    coverage : float in (0, 1]
        Share of the population in the intruder's register. A person is in it with this
        probability, whatever their keys, and only persons in it are looked for. In attacks on
        households a household is in it as a whole, or not.
    unit : {"person", "household"}
        Whom one attack is about. A household is matched as a whole: by the keys of all its
        members, in any order.
    household : str, optional
        Column of both files with the number of the household; `unit` "household" needs it.
    who : {"sample uniques", "everyone"}
        Whom they look for: persons (or households) whom no other of the sample shares the keys
        with, or all of the sample.
    rows : str, optional
        Column of the sample with True and False: only rows with True are looked for (households
        with at least one such row).
    accuracy : number or numbers between 0 and 1
        A number is found when the answer is within ``y (1 - p)`` and ``y (1 + p)`` of the true
        value y. A category is found when the answer is the true level.
    categorical : str or sequence of str
        Targets that are codes of categories although their columns are numbers. Columns of text,
        categories and True/False are categories anyway.
    members : {"any", "every"}
        A household counts as disclosed when the target of one or of every member is found.
        Members without a true value are left out.

    Raises
    ------
    InputError
        No key, a name given twice, a target among the keys, probabilities and accuracies outside
        their range, households without their column, errors of what is not a key.

    Examples
    --------
    >>> intruder = Scenario(["region", "age"], "income", key_errors={"age": 0.1}, coverage=0.5)
    >>> print(intruder.story())
    The intruder knows region and age of every person in a register of 50 % of the population; age \
is wrong for 10 %. They look for persons of the sample with whom nobody else in it shares these \
keys. They want income; a number counts as found within 1 %, 2 % or 5 % of the true value, a \
category when it is the true one.
    >>> Scenario.from_dict(intruder.to_dict()) == intruder
    True
    """

    keys: tuple[str, ...]
    targets: tuple[str, ...] = ()
    key_errors: tuple[tuple[str, float], ...] = ()
    coverage: float = 1.0
    unit: str = "person"
    household: str | None = None
    who: str = "sample uniques"
    rows: str | None = None
    accuracy: tuple[float, ...] = ACCURACY
    categorical: tuple[str, ...] = ()
    members: str = "any"

    def __init__(
        self,
        keys: Sequence[str] | str,
        targets: Sequence[str] | str = (),
        *,
        key_errors: Mapping[str, float] | Iterable[tuple[str, float]] = (),
        coverage: float = 1.0,
        unit: str = "person",
        household: str | None = None,
        who: str = "sample uniques",
        rows: str | None = None,
        accuracy: Sequence[float] | float = ACCURACY,
        categorical: Sequence[str] | str = (),
        members: str = "any",
    ) -> None:
        faults = Faults("Scenario")
        key_names = _names(faults, "keys", keys)
        plain = {
            "keys": key_names, "targets": _names(faults, "targets", targets),
            "key_errors": _errors(faults, key_errors, key_names), "coverage": coverage,
            "unit": unit, "household": household, "who": who, "rows": rows,
            "accuracy": _accuracies(faults, accuracy), "members": members,
            "categorical": _names(faults, "categorical", categorical),
        }  # fmt: skip
        _check(faults, plain)
        faults.raise_if_any()
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    @property
    def errors(self) -> dict[str, float]:
        """Probability that the intruder's value is wrong, of every key, in their order."""
        shares = dict(self.key_errors)
        return {key: shares.get(key, 0.0) for key in self.keys}

    def story(self) -> str:
        """Tell in sentences what the intruder knows, whom they look for and what they want."""
        persons = message("every person of the sample")
        if self.coverage < 1:
            persons = message(
                "every person in a register of {coverage} of the population",
                coverage=_percent(self.coverage),
            )
        wrong = [
            message("{key} is wrong for {p}", key=key, p=_percent(p)) for key, p in self.key_errors
        ]
        knows = message(
            "The intruder knows {keys} of {persons}", keys=join(self.keys), persons=persons
        )
        return sentences(
            joined_by("; ", [knows, *wrong]) + ".",
            message("They look for {whom}.", whom=self._whom()),
            self._wants(),
        )

    def summary(self) -> str:
        """Return the story."""
        return self.story()

    def to_dict(self) -> dict[str, Any]:
        """Return what differs from the defaults as lists, numbers and text, as TOML has them."""
        plain: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.default is MISSING or value != field.default:
                plain[field.name] = list(value) if isinstance(value, tuple) else value
        if "key_errors" in plain:
            plain["key_errors"] = dict(plain["key_errors"])
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Scenario:
        """Make the record from `to_dict` or a table of a TOML file; unknown names are faults."""
        faults = Faults("Scenario")
        known = [field.name for field in fields(cls)]
        for name in plain:
            if name not in known:
                faults.add(str(name), "is not part of a scenario", hint=did_you_mean(name, known))
        if "keys" not in plain:
            faults.add("keys", "no key is given", hint="Name the columns the intruder knows.")
        faults.raise_if_any()
        return cls(**plain)

    def _whom(self) -> str:
        noun = message("households") if self.unit == "household" else message("persons")
        which = (" " + message("for which {rows} is true", rows=self.rows)) if self.rows else ""
        if self.unit == "household" and self.rows:
            which = " " + message("with a member for whom {rows} is true", rows=self.rows)
        if self.who == "everyone":
            return message("all {noun} of the sample{which}", noun=noun, which=which)
        is_home = self.unit == "household"
        other = message("no other household") if is_home else message("nobody else")
        return message(
            "{noun} of the sample{which} with whom {other} in it shares these keys",
            noun=noun,
            which=which,
            other=other,
        )

    def _wants(self) -> str:
        if not self.targets:
            return ""
        clauses = [message("They want {targets}", targets=join(self.targets))]
        right = message("when it is the true one")
        if set(self.targets) - set(self.categorical):
            within = join((_percent(p) for p in self.accuracy), "or")
            number = message(
                "a number counts as found within {within} of the true value", within=within
            )
            clauses.append(message("{number}, a category {right}", number=number, right=right))
        else:
            clauses.append(message("a category counts as found {right}", right=right))
        if self.unit == "household":
            clauses.append(
                message(
                    "a household counts when this is so for {members} member",
                    members=message(self.members),
                )
            )
        return joined_by("; ", clauses) + "."


def to_scenario(
    subject: str,
    keys: Scenario | Sequence[str] | str,
    target: Sequence[str] | str | None = None,
    *,
    accuracy: Sequence[float] | float | None = None,
    honoured: Sequence[str] | None = None,
    n_targets: int | None = None,
) -> Scenario:
    """Turn what a measure was given, a Scenario or keys and target, into one checked Scenario.

    honoured: fields that the measure takes into account beside keys and targets (None: all);
        another field that differs from its default is a fault, never ignored
    n_targets: how many targets the measure wants; None: any number

    Examples
    --------
    >>> intruder = Scenario("region", "income")
    >>> to_scenario("tcap", ["region"], "income") == to_scenario("tcap", intruder)
    True
    >>> to_scenario("tcap", Scenario("region", unit="household", household="id"), honoured=())
    Traceback (most recent call last):
    synthpop.microdata.messages.errors.InputError: tcap: 2 faults
      - unit: 'household' of the Scenario has no part in this measure. Leave it out.
      - household: 'id' of the Scenario has no part in this measure. Leave it out.
    """
    faults = Faults(subject)
    if isinstance(keys, Scenario):
        scenario = keys
        for name, value in (("target", target), ("accuracy", accuracy)):
            if value is not None:
                faults.add(name, "is given beside a Scenario", hint="The Scenario holds it.")
    else:
        try:
            scenario = Scenario(
                keys,
                () if target is None else target,
                accuracy=ACCURACY if accuracy is None else accuracy,
            )
        except InputError as error:
            raise InputError(subject, error.faults) from None
    if honoured is not None:
        for name, value in scenario.to_dict().items():
            if name not in ("keys", "targets", *honoured):
                what = f"{value!r} of the Scenario has no part in this measure"
                faults.add(name, what, hint="Leave it out.")
    if n_targets is not None and len(scenario.targets) != n_targets:
        what = f"{len(scenario.targets)} targets are given, {n_targets} wanted"
        faults.add("target", what, hint="Name what the intruder looks for.")
    faults.raise_if_any()
    return scenario


def _names(faults: Faults, where: str, value: object) -> tuple[str, ...]:
    names = listed_names(value)
    for name in names:
        if not isinstance(name, str) or not name:
            faults.add(where, f"{name!r} is not the name of a column")
    text = [name for name in names if isinstance(name, str)]
    for name in dict.fromkeys(text):
        if text.count(name) > 1:
            faults.add(where, f"{name!r} is given {text.count(name)} times")
    return tuple(text)


def _errors(
    faults: Faults, key_errors: Any, keys: tuple[str, ...]
) -> tuple[tuple[str, float], ...]:
    try:
        table = dict(key_errors)
    except (TypeError, ValueError):
        hint = "Give a mapping as {'age': 0.05}."
        faults.add("key_errors", f"{key_errors!r} is not keys with probabilities", hint=hint)
        return ()
    for key, p in table.items():
        if key not in keys:
            faults.add("key_errors", f"{key!r} is not a key", hint=did_you_mean(key, keys))
        if not is_number(p) or not 0 <= p < 1:
            faults.add("key_errors", f"{p!r} of {key!r} is not a probability from 0 to below 1")
    good = {key: p for key, p in table.items() if is_number(p) and p > 0}
    return tuple((key, float(good[key])) for key in keys if key in good)


def _accuracies(faults: Faults, accuracy: Any) -> tuple[float, ...]:
    single = isinstance(accuracy, str) or not isinstance(accuracy, Iterable)
    values = (accuracy,) if single else tuple(accuracy)
    if not values:
        faults.add("accuracy", "no accuracy is given")
    for p in values:
        if not is_number(p) or not 0 < p < 1:
            hint = "0.05 means within 5 % of the true value."
            faults.add("accuracy", f"{p!r} is not a number between 0 and 1", hint=hint)
    if len(set(values)) < len(values):
        faults.add("accuracy", "a value is given twice")
    return tuple(float(p) for p in values if is_number(p))


def check_roles(
    faults: Faults, keys: tuple[str, ...], targets: tuple[str, ...], household: str | None
) -> None:
    """Note no key at all, and columns with two roles."""
    if not keys:
        faults.add("keys", "no key is given", hint="Name the columns that the intruder knows.")
    for target in targets:
        if target in keys:
            faults.add("target", f"{target!r} is also a key", hint="The intruder looks for it.")
    if household is not None and household in (*keys, *targets):
        what = f"{household!r} is also a key or a target"
        faults.add("household", what, hint="The number of a household is not known outside.")


def _check(faults: Faults, plain: dict[str, Any]) -> None:
    check_roles(faults, plain["keys"], plain["targets"], plain["household"])
    for name in plain["categorical"]:
        if name not in plain["targets"]:
            hint = did_you_mean(name, plain["targets"])
            faults.add("categorical", f"{name!r} is not a target", hint=hint)
    if not is_number(plain["coverage"]) or not 0 < plain["coverage"] <= 1:
        what = f"{plain['coverage']!r} is not a share above 0 and up to 1"
        faults.add("coverage", what, hint="1 is a register of the whole population.")
    else:
        plain["coverage"] = float(plain["coverage"])
    for name, allowed in (("unit", UNITS), ("who", WHO), ("members", MEMBERS)):
        check_choice(faults, name, plain[name], allowed)
    for name in ("household", "rows"):
        if plain[name] is not None and (not isinstance(plain[name], str) or not plain[name]):
            faults.add(name, f"{plain[name]!r} is not the name of a column")
    household = plain["household"]
    if plain["unit"] == "household" and household is None:
        hint = "Name the column with the number of the household."
        faults.add("household", "is needed for attacks on households", hint=hint)
    if plain["unit"] == "person" and (household is not None or plain["members"] != "any"):
        name = "household" if household is not None else "members"
        hint = 'Set unit="household", or leave it out.'
        faults.add(name, "has no effect on attacks on persons", hint=hint)


def _percent(share: float) -> str:
    return short_percent(share, 4)
