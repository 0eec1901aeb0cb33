"""Keyed pseudonyms: the same person has the same one in all files of an office, and no name."""

from __future__ import annotations

import hmac
import unicodedata
from collections.abc import Sequence
from typing import Any

import pandas as pd

from riskeval.protection.result import Protected, protected
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.messages.text import count
from synthpop.microdata.roles.microdata import as_file
from synthpop.microdata.statistics.secret_key import Key, secret_key

MOST_EXACT = 2.0**53
"""Whole numbers from here on are not exact as reals."""


@same_library
def pseudonymise(
    data: Any,
    columns: str | Sequence[str],
    key: Key,
    *,
    of: str = "person",
    digits: int = 20,
) -> Protected:
    """Replace identifiers by pseudonyms that only the holder of a secret key can make.

    Parameters
    ----------
    data : DataFrame or another table, n records
    columns : str or sequence of str
        Identifiers of the same units: of the person, the mother, the partner.
    key : SecretKey, bytes, hexadecimal text or path of a key file
        16 to 64 secret bytes, kept by the office; never in the result. Under another key every
        pseudonym is another, so that files of different purposes cannot be joined.
    of : str
        What is identified. Person 17 and household 17 have different pseudonyms; give the same
        word in every file that is to be joined.
    digits : int, 12 to 64
        Hexadecimal digits of a pseudonym. 20 (80 bits) leave a chance of about one in two
        million that any two of a billion differ only in what is cut off.

    Returns
    -------
    Protected
        The columns are text; missing identifiers stay missing. ``parameters["key"]`` is a check
        value, equal for the same key and `of`. Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown columns, a key that is none, numbers that have lost digits, two identifiers with one
        pseudonym.

    Notes
    -----
    HMAC with SHA-256 (RFC 2104, FIPS 198-1) of `of` and the text of the identifier, cut off at
    `digits`. A whole number has one text however a file holds it (17, 17.0, "17"); spaces around
    it do not count and letters are compared in Unicode's form NFC. Leading zeros do count.

    Pseudonyms are personal data: whoever has the key makes those of all known identifiers, and
    whoever has two files under one key joins them. A release is safer with `create_new_id`.
    Members keep one household id, as equal ids stay equal: `household` has no meaning here.

    Examples
    --------
    >>> year_1 = pd.DataFrame({"pid": [17, 18]})
    >>> year_2 = pd.DataFrame({"nr": ["18", None], "income": [3, 4]})
    >>> key = bytes(range(32))
    >>> first, second = pseudonymise(year_1, "pid", key), pseudonymise(year_2, "nr", key)
    >>> first.data["pid"][1] == second.data["nr"][0], second.data["nr"].isna().tolist()
    (True, [False, True])
    """
    faults = Faults("pseudonymise")
    frame = as_file(data, faults).indexed
    names = list(listed_names(columns))
    check_columns(faults, frame, dict.fromkeys(names), "identifier")
    for name in names:
        if name in frame and pd.api.types.is_float_dtype(frame[name].dtype):
            long = frame[name].abs().ge(MOST_EXACT).fillna(False).to_numpy(dtype=bool)
            what = "identifiers of 16 digits and more were read as reals and have lost digits"
            faults.add_where(long, name, what, hint="Read the column as text.")
    check(faults, {"digits": Whole(12, 64)}, {"digits": digits})
    if not names:
        faults.add("columns", "no column is given")
    faults.raise_if_any()
    secret = secret_key(key)
    if secret is None:
        faults.add("key", "is not given", hint="Make one with secrets.token_bytes(32); keep it.")
        faults.raise_if_any()
    assert secret is not None
    texts = {name: frame[name].map(_text, na_action="ignore") for name in names}
    known = pd.unique(pd.concat([*texts.values()], ignore_index=True).dropna())
    made = {text: _pseudonym(secret.content, of, text)[:digits] for text in known}
    if len(set(made.values())) < len(made):
        faults.add("digits", f"two identifiers share a pseudonym at {digits}", hint="Give more.")
        faults.raise_if_any()
    released = frame.copy(deep=False)
    for name in names:
        released[name] = texts[name].map(made).astype(object)
    return protected(
        frame,
        released,
        names,
        method="pseudonymise",
        parameters={
            "columns": names,
            "of": of,
            "digits": int(digits),
            "key": secret.seal("pseudonymise", of),
        },
        notes=[
            message(
                "{n} identifiers have pseudonyms that only the holder of the key can make; files "
                "under the same key can be joined by them.",
                n=count(len(made)),
            )
        ],
    )


def _text(identifier: object) -> str:
    return unicodedata.normalize("NFC", level_text(str(identifier).strip()))


def _pseudonym(key: bytes, of: str, text: str) -> str:
    """Return HMAC-SHA-256 of two texts, the first behind its length, as hexadecimal digits."""
    kind = of.encode()
    content = len(kind).to_bytes(4, "big") + kind + text.encode("utf-8", "surrogatepass")
    return hmac.new(key, content, "sha256").hexdigest()
