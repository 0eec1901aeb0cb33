"""A release as DDI Codebook 2.5 (ddialliance.org), which data archives and catalogues read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from synthpop.microdata.frame.dictionary import Variable
from synthpop.microdata.version import __version__

SPACE = "ddi:codebook:2_5"
SCHEMA = "http://www.ddialliance.org/Specification/DDI-Codebook/2.5/XMLSchema/codebook.xsd"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
CONTROL = re.compile(r"[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
"""Characters that XML 1.0 does not allow."""


def codebook(passport: Any, files: Sequence[Path]) -> bytes:
    """Return the codebook of a release; `passport` is a `Passport`.

    Parts stand in the order that the schema prescribes.
    """
    ET.register_namespace("", SPACE)
    ET.register_namespace("xsi", XSI)
    root = ET.Element(f"{{{SPACE}}}codeBook", {
        "version": "2.5", "ID": "release", f"{{{XSI}}}schemaLocation": f"{SPACE} {SCHEMA}",
        "{http://www.w3.org/XML/1998/namespace}lang": passport.language,
    })  # fmt: skip
    _study(root, passport)
    parts = [
        (path, table) for table in passport.data for path in files if path.stem == table["name"]
    ]
    for number, (path, table) in enumerate(parts, 1):
        _file(root, number, path, table)
    _variables(root, passport, [table for _, table in parts])
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _study(root: ET.Element, passport: Any) -> None:
    about: Mapping[str, str] = passport.about
    study = _add(root, "stdyDscr")
    citation = _add(study, "citation")
    _add(_add(citation, "titlStmt"), "titl", passport.title)
    producer = _add(citation, "prodStmt")
    if about.get("publisher"):
        _add(producer, "producer", about["publisher"])
    if about.get("licence"):
        _add(producer, "copyright", about["licence"])
    _add(producer, "software", "synthpop", version=__version__)
    if about.get("publisher"):
        _add(_add(citation, "distStmt"), "distrbtr", about["publisher"])
    version = _add(citation, "verStmt")
    _add(version, "version", "1.0.0", date=date.today().isoformat())
    if about.get("citation"):
        _add(citation, "biblCit", about["citation"])
    info = _add(study, "stdyInfo")
    _add(info, "abstract", passport.description)
    kind = "synthetic microdata" if passport.synthetic else "protected survey microdata"
    _add(_add(info, "sumDscr"), "dataKind", kind)
    for row in passport.judged:
        _add(info, "notes", f"{row['what']}: {row['word']}. {row['reason']}", type="judgement")
    if passport.verdict.get("level"):
        _add(info, "notes", passport.verdict["level"], type="verdict")
    if passport.verdict.get("despite"):
        _add(info, "notes", passport.verdict["despite"], type="released all the same")
    method = _add(study, "method")
    for step in passport.method:
        _add(method, "notes", step, type="processing")
    access = _add(study, "dataAccs")
    use = _add(access, "useStmt")
    if about.get("citation"):
        _add(use, "citReq", about["citation"])
    if about.get("licence"):
        _add(use, "conditions", about["licence"])


def _file(root: ET.Element, number: int, path: Path, table: Mapping[str, Any]) -> None:
    """Describe a file: each format of a table by itself, as the specification asks for."""
    text = _add(_add(root, "fileDscr", ID=f"F{number}"), "fileTxt")
    _add(text, "fileName", path.name)
    size = _add(text, "dimensns")
    _add(size, "caseQnty", str(table["records"]))
    _add(size, "varQnty", str(len(table["columns"])))
    _add(text, "fileType", path.suffix.lstrip("."))


def _variables(root: ET.Element, passport: Any, tables: Sequence[Mapping[str, Any]]) -> None:
    """Describe each column once, with the files that have it; a table for each file."""
    described = _add(root, "dataDscr")
    names = dict.fromkeys(str(name) for table in tables for name in table["columns"])
    for number, name in enumerate(names, 1):
        variable = passport.dictionary.variables.get(name, Variable(name))
        files = " ".join(
            f"F{place}" for place, table in enumerate(tables, 1)
            if name in map(str, table["columns"])
        )  # fmt: skip
        kind = passport.types.get(name, "text")
        of_amounts = kind == "number" and not variable.values
        part = _add(described, "var", ID=f"V{number}", name=name, files=files,
                    intrvl="contin" if of_amounts else "discrete")  # fmt: skip
        _add(part, "labl", variable.label or name)
        missing = {str(code): label for code, label in variable.missing}
        for code, label in (*variable.values, *variable.missing):
            more = {"missing": "Y"} if str(code) in missing else {}
            category = _add(part, "catgry", **more)
            _add(category, "catValu", str(code))
            _add(category, "labl", label)
        if variable.unit:
            _add(part, "notes", variable.unit, type="unit")
        # the schema wants the format before notes
        written = _add(part, "varFormat", type="character" if kind == "text" else "numeric")
        if variable.unit:
            part.remove(written)
            part.insert(len(part) - 1, written)


def _add(parent: ET.Element, tag: str, text: object = "", **attributes: str) -> ET.Element:
    part = ET.SubElement(parent, f"{{{SPACE}}}{tag}", attributes)
    if text != "":
        part.text = CONTROL.sub("", str(text))
    return part
