"""Known totals from files in long and wide form, and from SDMX."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from synthpop import InputError, Margin
from synthpop.calibration import read_totals

LONG = pd.DataFrame({"zone": ["a", "a", "b"], "sex": ["f", "m", "f"], "total": [3, 4, 5]})
WIDE = pd.DataFrame({"ZONE": ["a", "b"], "F": [3, 5], "M": [4, 0]})
XML = """<?xml version="1.0" encoding="UTF-8"?>
<mes:StructureSpecificData xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xmlns:mes="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/message"
 xmlns:ss="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/data/structurespecific"
 xmlns:com="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/common"
 xmlns:ns1="urn:sdmx:org.sdmx.infomodel.datastructure.DataStructure=XX:POP(1.0):ObsLevelDim:AllDimensions">
<mes:Header><mes:ID>one</mes:ID><mes:Test>false</mes:Test><mes:Prepared>2025-01-01T00:00:00Z</mes:Prepared>
<mes:Sender id="ZZZ"/><mes:Structure structureID="POP" dimensionAtObservation="AllDimensions"
 namespace="urn:sdmx:org.sdmx.infomodel.datastructure.DataStructure=XX:POP(1.0)">
<com:Structure><Ref agencyID="XX" id="POP" version="1.0" class="DataStructure"/></com:Structure>
</mes:Structure></mes:Header>
<mes:DataSet ss:structureRef="POP" xsi:type="ns1:DataSetType" ss:dataScope="POP" action="Information">
<Obs GEO="a" SEX="F" TIME_PERIOD="2025" OBS_STATUS="A" OBS_VALUE="3" />
<Obs GEO="a" SEX="M" TIME_PERIOD="2025" OBS_STATUS="A" OBS_VALUE="4" />
<Obs GEO="b" SEX="F" TIME_PERIOD="2025" OBS_STATUS="E" OBS_VALUE="5" />
<Obs GEO="b" SEX="_T" TIME_PERIOD="2025" OBS_STATUS="A" OBS_VALUE="5" />
</mes:DataSet></mes:StructureSpecificData>
"""  # noqa: E501
CSV = """STRUCTURE,STRUCTURE_ID,ACTION,GEO,SEX,TIME_PERIOD,OBS_VALUE
datastructure,XX:POP(1.0),I,a,F,2025,3
datastructure,XX:POP(1.0),I,a,M,2025,4
datastructure,XX:POP(1.0),I,b,F,2025,5
datastructure,XX:POP(1.0),I,b,M,2024,9
"""
NAMES = {"GEO": "zone", "SEX": "sex"}
CODES = {"sex": {"F": "f", "M": "m"}}


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_long_tables_are_taken_as_they_are(suffix: str, tmp_path: Path) -> None:
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl")
    file = tmp_path / f"totals{suffix}"
    write = {".csv": LONG.to_csv, ".xlsx": LONG.to_excel, ".parquet": LONG.to_parquet}[suffix]
    write(file, index=False)
    table = read_totals(file)
    assert table.astype(str).values.tolist() == LONG.astype(str).values.tolist()
    assert Margin(table).targets.tolist() == [3, 4, 5]


def test_wide_tables_become_long_and_get_the_names_of_the_survey(tmp_path: Path) -> None:
    WIDE.to_csv(tmp_path / "wide.csv", index=False)
    wide = {"F": {"sex": "F"}, "M": {"sex": "M"}}
    table = read_totals(
        tmp_path / "wide.csv", wide=wide, columns={"ZONE": "zone"}, codes=CODES, total="n"
    )
    assert table.columns.tolist() == ["zone", "sex", "n"]
    assert table.values.tolist() == [["a", "f", 3], ["b", "f", 5], ["a", "m", 4], ["b", "m", 0]]


def test_sdmx_as_csv_needs_no_package(tmp_path: Path) -> None:
    (tmp_path / "sdmx.csv").write_text(CSV)
    table = read_totals(
        tmp_path / "sdmx.csv", columns=NAMES, codes=CODES, where={"TIME_PERIOD": 2025}
    )
    assert table.values.tolist() == LONG.values.tolist()


def test_sdmx_as_xml(tmp_path: Path) -> None:
    pytest.importorskip("pysdmx", reason="the extra sdmx is not installed")
    file = tmp_path / "sdmx.xml"
    file.write_text(XML)
    table = read_totals(
        file, columns=NAMES, codes=CODES, where={"SEX": ["F", "M"], "OBS_STATUS": ["A"]}
    )
    assert table.values.tolist() == [["a", "f", 3.0], ["a", "m", 4.0]]
    file.write_text("<a></a>")
    with pytest.raises(InputError, match="is not an SDMX message"):
        read_totals(file)


def test_every_fault_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "sdmx.csv"
    file.write_text(CSV)
    with pytest.raises(InputError) as caught:
        read_totals(file, columns={"GEOO": "zone"}, where={"SEXX": "F"})
    assert len(caught.value.faults) == 2
    with pytest.raises(InputError, match="no row has X"):
        read_totals(file, columns=NAMES, where={"SEX": ["F", "X"], "TIME_PERIOD": 2025})
    with pytest.raises(InputError, match="TIME_PERIOD: has 2 values"):
        read_totals(file, columns=NAMES)
    with pytest.raises(InputError, match="no value for M"):
        read_totals(file, columns=NAMES, where={"TIME_PERIOD": 2025}, codes={"sex": {"F": "f"}})
    with pytest.raises(InputError, match="'age' is not a column"):
        read_totals(file, columns=NAMES, where={"TIME_PERIOD": 2025}, codes={"age": {}})
    with pytest.raises(InputError, match="there is no such file"):
        read_totals(tmp_path / "absent.xml")
    (tmp_path / "sdmx.xml").write_text(XML)
    monkeypatch.setitem(__import__("sys").modules, "pysdmx.io", None)
    with pytest.raises(InputError, match="sdmx"):
        read_totals(tmp_path / "sdmx.xml")
