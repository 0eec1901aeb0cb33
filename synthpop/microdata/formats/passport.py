"""What describes a release: for machines as RO-Crate and Croissant, for its users in plain words.

DDI Codebook is in `ddi_codebook`. All of them say the same: what the file is, whether it is
synthetic, how it was made, what was judged, licence and citation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd

from synthpop.microdata.formats.ddi_codebook import codebook
from synthpop.microdata.frame.dictionary import Dictionary, Variable
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.language import gettext, use_language
from synthpop.microdata.messages.message import message, sentences
from synthpop.microdata.messages.text import count, join
from synthpop.microdata.version import __version__

CRATE, CROISSANT, CODEBOOK, README = (
    "ro-crate-metadata.json", "croissant.json", "ddi-codebook.xml", "README.md",
)  # fmt: skip
ABOUT = ("title", "description", "licence", "citation", "publisher")
KINDS = {
    ".csv": "text/csv", ".tsv": "text/tab-separated-values", ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet", ".html": "text/html", ".xml": "application/xml",
    ".md": "text/markdown", ".arrow": "application/vnd.apache.arrow.file",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}  # fmt: skip
CONTEXT: dict[str, Any] = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/", "citeAs": "cr:citeAs", "column": "cr:column",
    "conformsTo": "dct:conformsTo", "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"}, "extract": "cr:extract",
    "field": "cr:field", "fileProperty": "cr:fileProperty", "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet", "format": "cr:format", "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset", "jsonPath": "cr:jsonPath", "key": "cr:key",
    "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path",
    "recordSet": "cr:recordSet", "references": "cr:references", "regex": "cr:regex",
    "repeated": "cr:repeated", "replace": "cr:replace", "samplingRate": "cr:samplingRate",
    "separator": "cr:separator", "source": "cr:source", "subField": "cr:subField",
    "transform": "cr:transform",
}  # fmt: skip
"""The context that Croissant 1.0 prescribes."""


@dataclass(frozen=True, slots=True)
class Passport:
    """What a release is, told to everybody who gets it.

    Attributes
    ----------
    synthetic : bool
    data : sequence of mappings
        Of each table: name (its files begin with it), records, columns.
    dictionary : Dictionary
    method : sequence of str
        How it was made, a step each, without what would undo it.
    judged : sequence of mappings
        What the page judges: what, word, reason.
    verdict : mapping
        Level, evidence, met and not_tried, and despite, as `verdict.json` has it.
    about : mapping
        Of `ABOUT`; what is absent is told as absent.
    types : mapping
        Column -> "integer", "number" or "text".
    weights : str or None
    language : str
    """

    synthetic: bool
    data: Sequence[Mapping[str, Any]]
    dictionary: Dictionary
    method: Sequence[str] = ()
    judged: Sequence[Mapping[str, str]] = ()
    verdict: Mapping[str, Any] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    weights: str | None = None
    language: str = "en"

    @property
    def title(self) -> str:
        """Title, or what kind of file it is."""
        kind = "Synthetic microdata" if self.synthetic else "Protected microdata"
        return self.about.get("title") or gettext(kind)

    @property
    def description(self) -> str:
        """What the file is, in one sentence, and what its publisher says of it."""
        if self.synthetic:
            text = message(
                "This file is synthetic: its records were drawn from a model and stand for no "
                "existing persons."
            )
        else:
            text = message(
                "This file holds records of a survey that were protected: values were coarsened, "
                "suppressed or changed."
            )
        return sentences(self.about["description"], text) if self.about.get("description") else text


def about_and_others(texts: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the facts that a passport tells, such as "licence=CC BY 4.0", and the other texts.

    Examples
    --------
    >>> about_and_others(["licence=CC BY 4.0", "recipients=everybody"])
    ({'licence': 'CC BY 4.0'}, ['recipients=everybody'])
    """
    about, others = {}, []
    for text in texts:
        name, _, value = text.partition("=")
        if name in ABOUT and value:
            about[name] = value
        else:
            others.append(text)
    return about, others


def types_of(frame: pd.DataFrame) -> dict[str, str]:
    """Return column -> "integer", "number" or "text"."""
    kinds = {}
    for name in frame:
        values = frame[name]
        whole = pd.api.types.is_integer_dtype(values.dtype)
        kinds[str(name)] = "integer" if whole else "number" if is_number(values) else "text"
    return kinds


def write_passport(folder: Path, passport: Passport) -> None:
    """Write the description of a release into its folder, whose other files are complete."""
    with use_language(passport.language):
        (folder / README).write_text(plain_words(passport), encoding="utf-8")
        (folder / CODEBOOK).write_bytes(codebook(passport, _files(folder)))
        for name, make in ((CROISSANT, croissant), (CRATE, crate)):
            text = json.dumps(make(folder, passport), indent=1, ensure_ascii=False)
            (folder / name).write_text(text + "\n", encoding="utf-8")


def crate(folder: Path, passport: Passport) -> dict[str, Any]:
    """Return the metadata of an RO-Crate 1.1 (w3id.org/ro/crate/1.1)."""
    files = _files(folder)
    licence = passport.about.get("licence", "")
    url = licence.startswith("http")
    made = {
        "@id": "#making", "@type": "CreateAction", "name": "Making of this release",
        "description": " ".join(passport.method) or "Not described.",
        "instrument": {"@id": "#software"}, "result": _one_or_more([path.name for path in files]),
    }  # fmt: skip
    root: dict[str, Any] = {
        "@id": "./", "@type": "Dataset", "name": str(passport.title),
        "description": str(passport.description), "datePublished": date.today().isoformat(),
        "license": {"@id": licence if url else "#licence"},
        "hasPart": _one_or_more([path.name for path in files]),
        "mentions": {"@id": "#making"}, "keywords": _keywords(passport),
    }  # fmt: skip
    if passport.judged:
        figures = [f"#figure-{n}" for n in range(1, len(passport.judged) + 1)]
        root["variableMeasured"] = _one_or_more(figures)
    entities: list[dict[str, Any]] = [
        {"@id": CRATE, "@type": "CreativeWork", "about": {"@id": "./"},
         "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"}},
        root,
        {"@id": licence if url else "#licence", "@type": "CreativeWork",
         "name": licence or "No licence stated", "description": _licence(licence)},
        {"@id": "#software", "@type": "SoftwareApplication", "name": "synthpop",
         "softwareVersion": __version__, "version": __version__},
        made,
    ]  # fmt: skip
    for name in ("citation", "publisher"):
        if value := passport.about.get(name):
            kind = "CreativeWork" if name == "citation" else "Organization"
            root[name] = {"@id": f"#{name}"}
            entities.append({"@id": f"#{name}", "@type": kind, "name": value})
    if "publisher" in root:
        root["author"] = root["publisher"]
    entities += [
        {"@id": f"#figure-{n}", "@type": "PropertyValue", "name": row["what"], "value": row["word"],
         "description": row["reason"]} for n, row in enumerate(passport.judged, 1)
    ]  # fmt: skip
    entities += [
        {"@id": path.name, "@type": "File", "name": path.name,
         "contentSize": str(path.stat().st_size),
         "encodingFormat": KINDS.get(path.suffix, "application/octet-stream")} for path in files
    ]  # fmt: skip
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": entities}


def _one_or_more(names: Sequence[str]) -> dict[str, str] | list[dict[str, str]]:
    """Return links to entities: one by itself, as the profile asks for, or a list."""
    links = [{"@id": name} for name in names]
    return links[0] if len(links) == 1 else links


def croissant(folder: Path, passport: Passport) -> dict[str, Any]:
    """Return the description as Croissant 1.0 (mlcommons.org/croissant/1.0).

    Records are described where a table is there as Parquet or as delimited text.
    """
    files, records = [], []
    for path in _files(folder):
        files.append({
            "@type": "cr:FileObject", "@id": path.name, "name": path.name, "contentUrl": path.name,
            "contentSize": f"{path.stat().st_size} B", "sha256": _sha256(path),
            "encodingFormat": _croissant_kind(path),
        })  # fmt: skip
    for table in passport.data:
        names = [f"{table['name']}{ending}" for ending in (".parquet", ".csv")]
        file = next((name for name in names if (folder / name).exists()), None)
        if file is not None:
            records.append(_record_set(table, file, passport))
    values = {
        "@context": CONTEXT, "@type": "sc:Dataset", "name": str(passport.title),
        "description": str(passport.description), "conformsTo": "http://mlcommons.org/croissant/1.0",
        "datePublished": date.today().isoformat(), "version": "1.0.0",
        "keywords": _keywords(passport), "distribution": files, "recordSet": records,
        "license": passport.about.get("licence"), "citeAs": passport.about.get("citation"),
        "publisher": passport.about.get("publisher") and {
            "@type": "sc:Organization", "name": passport.about["publisher"]
        },
    }  # fmt: skip
    return {name: value for name, value in values.items() if value}


def _record_set(table: Mapping[str, Any], file: str, passport: Passport) -> dict[str, Any]:
    kinds = {"integer": "sc:Integer", "number": "sc:Float"}
    fields = []
    for name in table["columns"]:
        variable = variable_of(passport.dictionary, name)
        fields.append({
            "@type": "cr:Field", "@id": f"{table['name']}/{name}", "name": str(name),
            "description": variable.label or str(name),
            "dataType": kinds.get(passport.types.get(str(name), ""), "sc:Text"),
            "source": {"fileObject": {"@id": file}, "extract": {"column": str(name)}},
        })  # fmt: skip
    return {"@type": "cr:RecordSet", "@id": table["name"], "name": table["name"], "field": fields}


def plain_words(passport: Passport) -> str:
    """Return the page for users of the file: what it is, what it may be used for, and what not."""
    lines = [f"# {passport.title}", "", str(passport.description), ""]
    for table in passport.data:
        text = message(
            "{name}: {n} records, {m} columns.", name=table["name"], n=count(table["records"]),
            m=count(len(table["columns"])),
        )  # fmt: skip
        lines.append(f"- {text}")
    parts: list[tuple[str, Sequence[str]]] = [
        ("What it may be used for", _uses(passport)),
        ("What it must not be used for", _misuses(passport)),
        ("How to compute", _computing(passport)),
        ("How it was made", [*map(str, passport.method), f"synthpop {__version__}"]),
        ("What was judged", [f"{row['what']}: {row['word']}. {row['reason']}".rstrip()
                             for row in passport.judged]),
        ("Verdict", _verdict(passport)),
        ("Licence and citation", _rights(passport)),
    ]  # fmt: skip
    for title, items in parts:
        if items:
            lines += ["", f"## {gettext(title)}", "", *(f"- {item}" for item in items)]
    return "\n".join(lines) + "\n"


def _uses(passport: Passport) -> list[str]:
    if passport.synthetic:
        return [
            message("Teaching, writing and testing of programs, microsimulation, planning of "
                    "samples and studies."),
            message("First results. Those that matter are to be computed again on the survey."),
        ]  # fmt: skip
    return [message("Analyses of the survey, with the losses that the page of the release tells.")]


def _misuses(passport: Passport) -> list[str]:
    found = [message("To look for a person, or to join it with other files in order to find one.")]
    if passport.synthetic:
        found.append(message("As a source about single persons, households or small groups: "
                             "nothing of them is true but by chance."))  # fmt: skip
        found.append(message("Relations between variables that the model did not hold: the report "
                             "of the release tells which it does."))  # fmt: skip
    return found


def _computing(passport: Passport) -> list[str]:
    found = []
    if passport.weights:
        found.append(message("Every estimate needs the weights in {name}.", name=passport.weights))
    if passport.synthetic and len(passport.data) > 1:
        found.append(message(
            "There are {m} files of the same kind. Compute each number on each of them and take "
            "the average. Do not put them into one file.", m=count(len(passport.data)),
        ))  # fmt: skip
        found.append(message(
            "How much the {m} numbers differ shows the draws of the simulation; it is a standard "
            "error only where each file was learned from a bootstrap sample of its own.",
            m=count(len(passport.data)),
        ))  # fmt: skip
    elif passport.synthetic:
        found.append(message("Standard errors computed as if this were a survey are too small: "
                             "they know nothing of the model's uncertainty."))  # fmt: skip
    else:
        found.append(message("A missing value may have been suppressed: it is not the answer of "
                             "nobody."))  # fmt: skip
    return found


def _verdict(passport: Passport) -> list[str]:
    verdict = passport.verdict
    found = [gettext(str(verdict["level"]))] if verdict.get("level") else []
    for name, title in (("met", "Met: {names}."), ("not_tried", "Not tried: {names}.")):
        if verdict.get(name):
            found.append(message(title, names=join(verdict[name])))
    if verdict.get("despite"):
        found.append(message("It was released all the same: {reason}.", reason=verdict["despite"]))
    return found


def _rights(passport: Passport) -> list[str]:
    licence = passport.about.get("licence", "")
    found = [_licence(licence)]
    for name, title in (("citation", "Cite: {text}"), ("publisher", "Published by {text}.")):
        if text := passport.about.get(name):
            found.append(message(title, text=text))
    return found


def _licence(licence: str) -> str:
    if licence:
        return message("Licence: {licence}.", licence=licence)
    return message("No licence is stated: ask who gave you the file what you may do with it.")


def _keywords(passport: Passport) -> list[str]:
    return ["microdata", "synthetic data" if passport.synthetic else "disclosure control"]


def variable_of(dictionary: Dictionary, name: object) -> Variable:
    """Return what a dictionary says of a column, or its name alone."""
    return dictionary.variables.get(str(name), Variable(str(name)))


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_file() and path.name != CRATE]


def _croissant_kind(path: Path) -> str:
    kinds = {".parquet": "application/x-parquet"}
    return kinds.get(path.suffix) or KINDS.get(path.suffix, "application/octet-stream")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
