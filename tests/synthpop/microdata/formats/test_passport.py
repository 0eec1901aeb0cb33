"""What describes a release: RO-Crate, Croissant, DDI Codebook, and a page in plain words."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pandas as pd
import pytest

from synthpop.microdata.formats.passport import (
    CODEBOOK,
    CRATE,
    CROISSANT,
    README,
    Passport,
    about_and_others,
    types_of,
    write_passport,
)
from synthpop.microdata.frame.dictionary import Dictionary, Variable

ABOUT = {
    "title": "People of Northport", "description": "A file for courses.",
    "licence": "https://creativecommons.org/licenses/by/4.0/", "citation": "Office (2026): People",
    "publisher": "Office",
}  # fmt: skip
FRAME = pd.DataFrame({"age": [1, 2], "pay": [1.5, 2.5], "sex": ["f", "m"]})
DICTIONARY = Dictionary([
    Variable("age", "Age <in years>", unit="years"),
    Variable("sex", "Sex", ((1, "f"), (2, "m")), ((9, "not asked"),)),
])  # fmt: skip
DDI = "{ddi:codebook:2_5}"


def passport(n: int = 1, **changes: object) -> Passport:
    names = ["population"] if n == 1 else [f"population-{k:04d}" for k in range(1, n + 1)]
    tables = [{"name": name, "records": 2, "columns": list(FRAME.columns)} for name in names]
    judged = [{"what": "Fit", "word": "close", "reason": "Shares differ by 1 %."}]
    verdict = {"level": "cannot judge", "met": ["No copies"], "not_tried": ["a hold-out"]}
    values = {
        "synthetic": True, "data": tables, "dictionary": DICTIONARY, "method": ["structure"],
        "judged": judged, "verdict": verdict, "about": ABOUT, "types": types_of(FRAME),
    }  # fmt: skip
    return Passport(**{**values, **changes})  # type: ignore[arg-type]


def written(folder: Path, one: Passport) -> Path:
    for table in one.data:
        FRAME.to_csv(folder / f"{table['name']}.csv", index=False)
    write_passport(folder, one)
    return folder


def entities(folder: Path) -> dict[str, dict]:
    return {one["@id"]: one for one in json.loads((folder / CRATE).read_text())["@graph"]}


def test_the_crate_has_what_its_profile_requires(tmp_path: Path) -> None:
    graph = entities(written(tmp_path, passport()))
    root = graph["./"]
    assert graph[CRATE]["about"] == {"@id": "./"}
    assert graph[CRATE]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert root["@type"] == "Dataset"
    assert all(root[name] for name in ("name", "description", "datePublished", "license"))
    assert "This file is synthetic" in root["description"]
    files = {path.name for path in tmp_path.iterdir()} - {CRATE}
    assert {one["@id"] for one in root["hasPart"]} == files
    for name in files:
        assert graph[name]["@type"] == "File"
        assert graph[name]["contentSize"] == str((tmp_path / name).stat().st_size)
    assert root["license"] == {"@id": ABOUT["licence"]}
    assert graph["#figure-1"]["description"] == "Shares differ by 1 %."
    assert graph["#citation"]["name"] == ABOUT["citation"]
    links = [value["@id"] for one in graph.values() for value in one.values()
             if isinstance(value, dict)]  # fmt: skip
    assert {link for link in links if not link.startswith("http")} <= graph.keys()


def test_croissant_describes_files_and_fields(tmp_path: Path) -> None:
    found = json.loads((written(tmp_path, passport()) / CROISSANT).read_text())
    assert found["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    assert (found["license"], found["citeAs"]) == (ABOUT["licence"], ABOUT["citation"])
    data = next(one for one in found["distribution"] if one["name"] == "population.csv")
    assert data["sha256"] == hashlib.sha256((tmp_path / "population.csv").read_bytes()).hexdigest()
    fields = found["recordSet"][0]["field"]
    assert [one["dataType"] for one in fields] == ["sc:Integer", "sc:Float", "sc:Text"]
    assert fields[0]["description"] == "Age <in years>"
    assert fields[0]["source"] == {
        "fileObject": {"@id": "population.csv"}, "extract": {"column": "age"}}  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # of the library
def test_croissant_is_read_by_its_own_library(tmp_path: Path) -> None:
    library = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    written(tmp_path, passport())
    dataset = library.Dataset(jsonld=str(tmp_path / CROISSANT))
    assert not dataset.metadata.ctx.issues.errors
    assert len(list(dataset.records("population"))) == 2


@pytest.mark.filterwarnings("ignore")  # of the validator
def test_the_crate_is_valid_by_the_validator_of_its_profile(tmp_path: Path, monkeypatch) -> None:
    """Required and recommended: the context of a newer version, which a package ships, is used."""
    http = pytest.importorskip("rocrate_validator.utils.http", reason="roc-validator is absent")
    crate = pytest.importorskip("rocrate", reason="rocrate, which ships a context, is absent")
    from rocrate_validator.services import validate

    context = (Path(crate.__file__).parent / "data" / "ro-crate.jsonld").read_text()

    def get(self: object, url: str, **options: object) -> SimpleNamespace:
        assert url == "https://w3id.org/ro/crate/1.1/context"  # nothing else from the network
        kind = {"Content-Type": "application/ld+json"}
        found = {"status_code": 200, "ok": True, "text": context, "headers": kind, "url": url}
        return SimpleNamespace(**found, content=context.encode(), json=lambda: json.loads(context))

    monkeypatch.setattr(http.HttpRequester, "get", get, raising=False)
    for place, one in enumerate((passport(), passport(3, language="de"))):
        folder = tmp_path / str(place)
        folder.mkdir()
        settings = {"rocrate_uri": str(written(folder, one)), "profile_identifier": "ro-crate-1.1",
                    "requirement_severity": "RECOMMENDED", "offline": True}  # fmt: skip
        found = {issue.message for issue in validate(settings).get_issues()}
        assert found <= {"The organization SHOULD have a URL."}, found  # nobody has told it
    graph = json.loads((folder / CRATE).read_text())
    del graph["@graph"][1]["name"]
    (folder / CRATE).write_text(json.dumps(graph))
    assert not validate(settings).passed()


def test_the_codebook_has_its_parts_in_the_order_of_the_schema(tmp_path: Path) -> None:
    root = ET.parse(written(tmp_path, passport()) / CODEBOOK).getroot()
    names = [part.tag.removeprefix(DDI) for part in root]
    assert root.tag == f"{DDI}codeBook"
    assert names == ["stdyDscr", "fileDscr", "dataDscr"]
    study = [part.tag.removeprefix(DDI) for part in root[0]]
    assert study == ["citation", "stdyInfo", "method", "dataAccs"]
    assert root.findtext(f".//{DDI}titl") == ABOUT["title"]
    assert root.findtext(f".//{DDI}caseQnty") == "2"
    assert root.findtext(f".//{DDI}dataKind") == "synthetic microdata"
    age, _, sex = root.findall(f".//{DDI}var")
    assert age.findtext(f"{DDI}labl") == "Age <in years>"
    assert [part.tag.removeprefix(DDI) for part in age] == ["labl", "varFormat", "notes"]
    values = [(one.findtext(f"{DDI}catValu"), one.get("missing")) for one in sex[1:4]]
    assert values == [("1", None), ("2", None), ("9", "Y")]
    ids = [one.get("ID") for one in root.iter() if one.get("ID")]
    assert len(ids) == len(set(ids))


def test_the_page_says_what_the_file_is_for(tmp_path: Path) -> None:
    text = (written(tmp_path, passport(weights="w")) / README).read_text()
    for part in ("This file is synthetic", "What it must not be used for", "weights in w",
                 "Shares differ by 1 %", "cannot judge", "Not tried: a hold-out",
                 ABOUT["citation"], ABOUT["licence"], "A file for courses"):  # fmt: skip
        assert part in text, part


def test_users_of_replicates_learn_how_to_combine_them(tmp_path: Path) -> None:
    text = (written(tmp_path, passport(3)) / README).read_text()
    assert "There are 3 files" in text
    assert "take the average" in text
    root = ET.parse(tmp_path / CODEBOOK).getroot()
    assert len(root.findall(f"{DDI}fileDscr")) == 3
    assert root.find(f".//{DDI}var").get("files") == "F1 F2 F3"  # type: ignore[union-attr]


def test_protected_files_and_absent_facts_are_told_as_such(tmp_path: Path) -> None:
    one = passport(synthetic=False, about={}, verdict={}, judged=[], language="de")
    text = (written(tmp_path, one) / README).read_text()
    assert "Es ist keine Lizenz angegeben" in text
    assert "synthetisch" not in text
    assert entities(tmp_path)["#licence"]["name"] == "No licence stated"
    assert "license" not in json.loads((tmp_path / CROISSANT).read_text())


def test_what_xml_does_not_allow_is_left_out(tmp_path: Path) -> None:
    labels = Dictionary([Variable("age", "Age\x00 & more")])
    root = ET.parse(written(tmp_path, passport(dictionary=labels)) / CODEBOOK).getroot()
    assert root.find(f".//{DDI}var").findtext(f"{DDI}labl") == "Age & more"  # type: ignore[union-attr]


def test_facts_of_a_passport_are_told_from_those_of_a_ledger() -> None:
    assert about_and_others(["title=A = B", "wave=2026", "licence"]) == (
        {"title": "A = B"}, ["wave=2026", "licence"])  # fmt: skip
