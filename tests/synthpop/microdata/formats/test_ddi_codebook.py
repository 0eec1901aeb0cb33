"""The codebook beside a hand-made table of the elements of DDI Codebook.

The table was compared with the schema of 2.5 (codebook.xsd of 2014-01-28 and its documentation of
2012-01-17), type by type. Where the two differ, or where the schema repeats an element for other
languages only, the table allows one.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pandas as pd
import pytest

from synthpop.microdata.formats.passport import CODEBOOK, Passport
from tests.synthpop.microdata.formats.test_passport import DDI, FRAME, passport, written

# children in their order, of the elements that are written; a sign for how often: ? * + or once
CHILDREN = {
    "codeBook": "docDscr* stdyDscr+ fileDscr* dataDscr* otherMat*",
    "stdyDscr": "citation+ studyAuthorization* stdyInfo* studyDevelopment* method* dataAccs* "
    "othrStdyMat* notes*",
    "citation": "titlStmt rspStmt? prodStmt? distStmt? serStmt* verStmt* biblCit* holdings* notes*",
    "titlStmt": "titl subTitl* altTitl* parTitl* IDNo*",
    "prodStmt": "producer* copyright? prodDate* prodPlac* software* fundAg* grantNo*",
    "distStmt": "distrbtr* contact* depositr* depDate* distDate?",
    "verStmt": "version? verResp? notes*",
    "stdyInfo": "studyBudget* subject? abstract* sumDscr* qualityStatement? notes* "
    "exPostEvaluation*",
    "sumDscr": "timePrd* collDate* nation* geogCover* geogUnit* geoBndBox? boundPoly* anlyUnit* "
    "universe* dataKind*",
    "method": "dataColl* notes* anlyInfo? stdyClas? dataProcessing* codingInstructions*",
    "dataAccs": "setAvail* useStmt* notes*",
    "useStmt": "confDec? specPerm? restrctn? contact* citReq? deposReq? conditions? disclaimer?",
    "fileDscr": "fileTxt* locMap? notes*",
    "fileTxt": "fileName? fileCitation? dataFingerprint* fileCont? fileStrc? dimensns? fileType? "
    "format? filePlac? dataChck* ProcStat? dataMsng? software* verStmt?",
    "dimensns": "caseQnty* varQnty* logRecL* recPrCas* recNumTot*",
    "dataDscr": "varGrp* nCubeGrp* var* nCube* notes*",
    "var": "location* labl* imputation? security? embargo? respUnit? anlysUnit? qstn* valrng* "
    "invalrng* undocCod* universe* TotlResp? sumStat* txt* stdCatgry* catgryGrp* catgry* "
    "codInstr* verStmt* concept* derivation? varFormat? geoMap* catLevel* notes*",
    "catgry": "catValu? labl* txt* catStat* mrow?",
}  # fmt: skip
ATTRIBUTES = {
    "codeBook": {"version", "codeBookAgency"}, "software": {"version", "date"},
    "version": {"date", "type"}, "fileDscr": {"URI", "sdatrefs", "methrefs", "pubrefs", "access"},
    "var": {"name", "wgt", "files", "dcml", "intrvl"}, "catgry": {"missing", "missType"},
    "varFormat": {"type", "formatname", "schema", "category"},
    "notes": {"type", "subject", "level", "resp", "sdatrefs"},
}  # fmt: skip
VALUES = {"intrvl": {"contin", "discrete"}, "missing": {"Y", "N"}}
FORMATS = {"numeric", "character"}
GLOBALS = {"ID", "{http://www.w3.org/XML/1998/namespace}lang", "source"}
SCHEMA_LOCATION = "{http://www.w3.org/2001/XMLSchema-instance}schemaLocation"


def faults(element: ET.Element) -> list[str]:
    """Return where an element, and what it holds, differs from the documentation."""
    tag = element.tag.removeprefix(DDI)
    found = []
    children = [part.tag.removeprefix(DDI) for part in element]
    allowed = [name.rstrip("?*+") for name in CHILDREN.get(tag, "").split()]
    found += [f"{tag}/{name} is unknown" for name in children if name not in allowed]
    places = [allowed.index(name) for name in children if name in allowed]
    if places != sorted(places):
        found.append(f"{tag}: order of {children}")
    for name in CHILDREN.get(tag, "").split():
        n, sign = children.count(name.rstrip("?*+")), name[-1]
        if (n > 1 and sign not in "*+") or (n == 0 and sign not in "?*"):
            found.append(f"{tag}: {n} of {name}")
    allowed_names = GLOBALS | ATTRIBUTES.get(tag, set())
    allowed_names |= {SCHEMA_LOCATION} if tag == "codeBook" else set()
    found += [f"{tag}@{name}" for name in element.attrib if name not in allowed_names]
    found += [
        f"{tag}@{name}={element.get(name)}" for name, values in VALUES.items()
        if element.get(name, next(iter(values))) not in values
    ]  # fmt: skip
    if tag == "varFormat" and element.get("type") not in FORMATS:
        found.append(f"varFormat@type={element.get('type')}")
    return [*found, *(fault for part in element for fault in faults(part))]


CASES = {
    "population": passport(),
    "replicates": passport(3),
    "protected file": passport(synthetic=False, weights="w"),
    "nothing told": passport(about={}, judged=[], verdict={}, method=[]),
}


@pytest.mark.parametrize("title", CASES)
def test_parts_order_and_attributes_are_those_of_the_documentation(
    title: str, tmp_path: Path
) -> None:
    one: Passport = CASES[title]
    for table in one.data:  # a table in two formats is described twice
        pd.DataFrame(FRAME).to_parquet(tmp_path / f"{table['name']}.parquet")
    root = ET.parse(written(tmp_path, one) / CODEBOOK).getroot()
    assert faults(root) == []
    ids = {part.get("ID") for part in root.findall(f"{DDI}fileDscr")}
    assert len(ids) == 2 * len(one.data)
    for variable in root.iter(f"{DDI}var"):
        assert set(str(variable.get("files")).split()) == ids


def test_the_check_itself_finds_what_is_wrong(tmp_path: Path) -> None:
    root = ET.parse(written(tmp_path, passport()) / CODEBOOK).getroot()
    root.append(root[0])
    ET.SubElement(root[0], f"{DDI}nonsense")
    next(root.iter(f"{DDI}var")).set("intrvl", "both")
    next(root.iter(f"{DDI}titlStmt")).clear()
    found = faults(root)
    for part in ("order of", "nonsense is unknown", "var@intrvl=both", "titlStmt: 0 of titl"):
        assert any(part in text for text in found), (part, found)
