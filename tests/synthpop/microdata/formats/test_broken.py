"""Broken text files: one sentence with line and remedy, or a note; never a library's words."""

from __future__ import annotations

from pathlib import Path

import pytest

from synthpop.microdata.formats.files import read_table
from synthpop.microdata.messages.errors import InputError

ROWS = "1,2,3\n4,5,6\n7,8,9\n2,2,2\n"
BROKEN = {
    "ragged": (b"a,b,c\n1,2,3\n4,5,6,7\n", "line 3 has 4 cells, the first line 3 names"),
    "open quotation": (b'a,b\n1,"2\n3,4\n', "it cannot be taken apart into columns"),
    "no names": (b"0,0.1,7\n1,0.2,8\n", r"line 1 holds values \(0, 0.1, 7\), no names"),
    "no names but texts": (
        b"1,Vienna,f\n2,Graz,m\n3,Vienna,f\n",
        r"line 1 holds values \(1, Vienna, f\), no names",
    ),
    "a line for Excel": (b"sep=;\na;b\n1;2\n", "line 1 names a separator, no columns"),
    "a title": (b"Survey 2024\n\na,b\n1,2\n", r"line 1 \('Survey 2024'\) is a title"),
    "a name twice": (b"a,b,a\n1,2,3\n", "line 1 has the name 'a' more than once"),
    "two lines of names": (b"a,b,c\nAge,Sex,Job\n" + ROWS.encode(), "line 2 looks like a second"),
    "mixed encodings": ("a,b\nü,1\n".encode() + b"\xfc,2\n", "line 2 is UTF-8 and line 3 is not"),
    "no rows": (b"a,b,c\n", "there is a header but no row"),
    "nothing": (b"", "it is empty"),
    "an archive": (b"PK\x03\x04\x14\x00", "it is a ZIP archive"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_told_in_one_sentence(tmp_path: Path, name: str) -> None:
    content, words = BROKEN[name]
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        read_table(tmp_path / "a.csv")
    text = str(caught.value)
    assert not any(word in text for word in ("token", "C error", "pandas", "Traceback"))
    assert "Open it and check" not in text or name == "no rows"


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b"a\n1\n2\n", "one column only: set the separator if there are more"),
        (
            b'a,b\n"1,234",x\n"12,345",y\n',
            "'a' read as text: signs may stand between thousands (set thousands)",
        ),
        (b",a\n1,2\n3,4\n", "names made up for the columns without one: 1"),
        (b"a,b\n1,2\n3\n4,5\n", "empty cells at the end of 1 shorter row, the first in line 3"),
    ],
)
def test_what_is_filled_or_named_is_noted(tmp_path: Path, content: bytes, note: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    assert read_table(tmp_path / "a.csv").attrs["reading"] == [note]


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfa,b\n1,2\n3,4\n",
        b"1,2,3\n5,6,7\n",  # names in order
        b"bus,tram,age\nbus,,3\n,tram,4\n",  # boxes that were ticked
        b"a;b\n1,5;2\n2,5;3\n",
        b"a,b,c\nx,y,z\n" + ROWS.replace("1", "x").replace("5", "x").replace("9", "x").encode(),
    ],
)
def test_sound_files_are_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    assert len(read_table(tmp_path / "a.csv"))
