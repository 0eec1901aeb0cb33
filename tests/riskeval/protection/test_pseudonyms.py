"""Keyed pseudonyms: RFC 4231, the same person in files of other types, no way back."""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd
import pytest

from riskeval import protect
from riskeval.protection.pseudonyms import _pseudonym
from synthpop.microdata.messages.errors import InputError

KEY = bytes(range(32))


def naive_hmac(key: bytes, content: bytes) -> str:
    """RFC 2104, as it is written there."""
    padded = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in padded) + content).digest()
    return hashlib.sha256(bytes(b ^ 0x5C for b in padded) + inner).hexdigest()


def test_the_naive_version_gives_the_published_value_and_ours_agrees() -> None:
    published = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"  # RFC 4231, 2
    assert naive_hmac(b"Jefe", b"what do ya want for nothing?") == published
    content = b"\0\0\0\x06person" + b"17"
    assert _pseudonym(KEY, "person", "17") == naive_hmac(KEY, content)


def test_one_person_has_one_pseudonym_however_a_file_holds_the_identifier() -> None:
    held = [
        pd.Series([17, 18]), pd.Series([17.0, np.nan, 18.0]), pd.Series(["17", " 18 "]),
        pd.Series([17, None, 18], dtype="Int64"), pd.Series(pd.Categorical(["17", "18"])),
    ]  # fmt: skip
    made = [protect.pseudonymise(pd.DataFrame({"id": x}), "id", KEY).data["id"] for x in held]
    assert all(set(one.dropna()) == set(made[0]) for one in made)
    assert [int(one.isna().sum()) for one in made] == [0, 1, 0, 1, 0]
    assert protect.pseudonymise(pd.DataFrame({"id": ["017"]}), "id", KEY).data["id"][0] not in set(
        made[0]
    )


def test_key_kind_and_digits_count_and_columns_are_joined() -> None:
    frame = pd.DataFrame({"pid": [1, 2, 3], "mother": [3, None, None], "x": [1.0, 2, 3]})
    result = protect.pseudonymise(frame, ["pid", "mother"], KEY)
    assert result.data["mother"][0] == result.data["pid"][2]
    assert result.data["x"].equals(frame["x"])
    assert set(result.data["pid"].str.len()) == {20}
    short = protect.pseudonymise(frame, "pid", KEY.hex(), digits=12).data["pid"]
    assert (short == result.data["pid"].str[:12]).all()
    for other in (
        protect.pseudonymise(frame, "pid", KEY, of="household"),
        protect.pseudonymise(frame, "pid", bytes(32)),
    ):
        assert not set(other.data["pid"]) & set(result.data["pid"])
        assert other.parameters["key"] != result.parameters["key"]


def test_the_key_is_not_in_the_result() -> None:
    result = protect.pseudonymise(pd.DataFrame({"pid": [1]}), "pid", KEY)
    shown = f"{result.parameters} {result.summary()} {result!r} {result.details}"
    assert KEY.hex() not in shown
    assert str(KEY) not in shown


def test_faults_are_named_and_no_key_is_repeated() -> None:
    frame = pd.DataFrame({"pid": [1, 2]})
    for columns, key, digits, said in (
        ("absent", KEY, 20, "absent"), ("pid", b"short", 20, "5 bytes"), ("pid", KEY, 4, "digits"),
        ([], KEY, 20, "no column"), ("pid", None, 20, "is not given"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said) as caught:
            protect.pseudonymise(frame, columns, key, digits=digits)
        assert KEY.hex() not in str(caught.value)
    long = pd.DataFrame({"pid": [12345678901234567890.0, 3.0]})
    with pytest.raises(InputError, match="lost digits"):
        protect.pseudonymise(long, "pid", KEY)
