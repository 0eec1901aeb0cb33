"""Files of SPSS, Stata, SAS and R, sheets and fixed format: labels, codes and missing codes."""

from __future__ import annotations

import string
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synthpop import read_survey
from synthpop.microdata.formats.delimited import CsvOptions
from synthpop.microdata.formats.dictionary_file import read_dictionary
from synthpop.microdata.formats.files import READERS, WRITERS, read_table, write_table
from synthpop.microdata.formats.losses import losses
from synthpop.microdata.frame.dictionary import (
    Dictionary,
    Variable,
    dictionary_of,
    with_dictionary,
)
from synthpop.microdata.messages.errors import InputError, OutputError
from tests.sas7bdat import Column, write_sas7bdat

pyreadstat = pytest.importorskip("pyreadstat")
pytest.importorskip("rdata")
pytest.importorskip("openpyxl")

LABELLED = (".sav", ".zsav", ".dta")
SEX = Variable("sex", "Sex", values=((1, "male"), (2, "female")), measure="nominal")


def survey_frame() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "hid": [1, 1, 2, 3],
            "w": [10.5, 10.5, 20.0, 7.25],
            "sex": pd.Categorical(["male", "female", None, "male"], ["male", "female"]),
            "income": [812.5, np.nan, 0.0, -20.25],
            "town": ["Wörgl", "", "Graz", "Linz"],
        }
    )
    dictionary = Dictionary([SEX, Variable("income", "Net income", unit="EUR", decimals=2)])
    return with_dictionary(frame, dictionary)


@pytest.mark.parametrize("suffix", LABELLED)
def test_labels_and_codes_come_back(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"s{suffix}"
    write_table(survey_frame(), file)
    frame = read_table(file)
    assert frame["sex"].astype(object).where(frame["sex"].notna(), None).tolist() == [
        "male", "female", None, "male",
    ]  # fmt: skip
    assert dictionary_of(frame)["sex"].values == ((1, "male"), (2, "female"))
    assert dictionary_of(frame)["income"].label == "Net income"
    assert frame["hid"].dtype == np.int64
    np.testing.assert_array_equal(frame["income"], survey_frame()["income"])
    assert frame["town"].tolist()[0] == "Wörgl"
    raw, _ = (pyreadstat.read_dta if suffix == ".dta" else pyreadstat.read_sav)(str(file))
    assert raw["sex"].tolist()[:2] == [1, 2]


def test_user_missing_codes_are_missing_or_levels(tmp_path: Path) -> None:
    raw = pd.DataFrame({"sex": [1.0, 2, 1, -9], "income": [-9.0, 100.5, 8, 33]})
    pyreadstat.write_sav(
        raw,
        str(tmp_path / "s.sav"),
        variable_value_labels={
            "sex": {1: "male", 2: "female", -9: "no answer"},
            "income": {-9: "keine Angabe"},
        },
        missing_ranges={"sex": [-9], "income": [{"lo": -9, "hi": -7}]},
    )
    frame = read_table(tmp_path / "s.sav")
    assert frame["sex"].cat.categories.tolist() == ["male", "female"]
    assert frame["sex"].isna().tolist() == [False, False, False, True]
    assert pd.api.types.is_float_dtype(frame["income"].dtype)
    assert frame["income"].isna().tolist() == [True, False, False, False]
    assert dictionary_of(frame)["sex"].missing == ((-9, "no answer"),)
    assert dictionary_of(frame)["income"].missing_ranges == ((-9, -7),)
    levels = read_table(tmp_path / "s.sav", user_missing="level")
    assert levels["sex"].tolist() == ["male", "female", "male", "no answer"]
    assert levels["income"].isna().tolist() == [True, False, False, False]
    write_table(levels, tmp_path / "t.sav")
    back, meta = pyreadstat.read_sav(str(tmp_path / "t.sav"), user_missing=True)
    assert back["sex"].tolist() == [1, 2, 1, -9]
    assert meta.missing_ranges["sex"] == [{"lo": -9.0, "hi": -9.0}]


def test_an_amount_with_one_labelled_code_stays_an_amount(tmp_path: Path) -> None:
    values = np.arange(200) * 1.5
    raw = pd.DataFrame({"income": np.where(values == 0, -9.0, values)})
    labels = {"income": {-9: "no answer"}}
    pyreadstat.write_sav(raw, str(tmp_path / "s.sav"), variable_value_labels=labels)
    frame = read_table(tmp_path / "s.sav")
    np.testing.assert_array_equal(frame["income"], raw["income"])


@pytest.mark.parametrize("suffix", sorted({*WRITERS} - {".csv", ".tsv", ".xlsx"}))
def test_columns_come_back_from_every_format(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"s{suffix}"
    write_table(survey_frame(), file)
    frame = read_table(file)
    assert frame.columns.tolist() == survey_frame().columns.tolist()
    np.testing.assert_array_equal(frame["w"], survey_frame()["w"])
    assert frame["hid"].tolist() == [1, 1, 2, 3]
    sex = frame["sex"].astype(object)
    codes = {1: "male", 2: "female"}
    levels = [codes.get(level, level) for level in sex.where(sex.notna(), None)]
    assert levels == ["male", "female", None, "male"]


def test_a_sheet_and_text_hold_labels(tmp_path: Path) -> None:
    for name in ("s.xlsx", "s.csv", "s.tsv"):
        write_table(survey_frame(), tmp_path / name)
        frame = read_table(tmp_path / name)
        assert frame["sex"].tolist()[:2] == ["male", "female"]
        assert frame["w"].tolist() == [10.5, 10.5, 20.0, 7.25]


def test_missing_factors_are_missing_in_r(tmp_path: Path) -> None:
    import rdata

    frame = pd.DataFrame({"c": pd.Categorical(["x", None, "y"], ["x", "y"])})
    write_table(frame, tmp_path / "f.rds")
    raw = rdata.parser.parse_file(tmp_path / "f.rds").object.value[0].value
    assert np.ma.filled(raw, -(2**31)).tolist() == [1, -(2**31), 2]


@pytest.mark.parametrize(
    ("suffix", "columns", "message"),
    [
        (".xpt", {"t": ["x" * 201]}, "at most 200 bytes"),
        (".sav", {"t": [(1, 2)]}, "neither numbers, dates nor text"),
    ],
)
def test_what_a_format_cannot_hold_is_named(
    tmp_path: Path, suffix: str, columns: dict, message: str
) -> None:
    file = tmp_path / f"s{suffix}"
    with pytest.raises(OutputError, match=message):
        write_table(pd.DataFrame(columns), file)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("suffix", "names", "made"),
    [
        (".sav", ["two words", "a", "A", "with"], ["two_words", "a", "A_2", "with_"]),
        (".dta", ["x" * 40, "in", "2a"], ["x" * 31, "in_", "v2a"]),
        (".xpt", ["größe", "Einkommen in €"], ["grosse", "Einkommen_in"]),
    ],
)
def test_names_that_a_format_forbids_become_legal_and_are_told(
    tmp_path: Path, suffix: str, names: list[str], made: list[str]
) -> None:
    frame = pd.DataFrame({name: [1.0, 2.0] for name in names})
    pairs = list(zip(names, made, strict=True))
    told = losses(frame, tmp_path / f"s{suffix}")[0]
    assert all(f"{a!r} (written as {b})" in told for a, b in pairs if a != b)
    write_table(frame, tmp_path / f"s{suffix}")
    back = read_table(tmp_path / f"s{suffix}")
    assert list(back.columns) == made
    assert dictionary_of(back)[made[0]].label == names[0]


def test_fixed_format_with_metadata(tmp_path: Path) -> None:
    (tmp_path / "s.asc").write_text("1 2 01250\n2 9 00500\n1 1 99999\n")
    (tmp_path / "s.rda").write_text(
        'REGION 1 1\n  <RECODEABLE>\nSEX 3 1 9\n  <RECODEABLE>\n  <CODELIST> "sex.cdl"\n'
        "INCOME 5 5 99999\n  <NUMERIC>\n  <DECIMALS> 2\n"
    )
    (tmp_path / "sex.cdl").write_text("1,male\n2,female\n")
    frame = read_table(tmp_path / "s.asc")
    assert frame["REGION"].tolist() == ["1", "2", "1"]
    assert frame["SEX"].astype(object).where(frame["SEX"].notna(), None).tolist() == [
        "female", None, "male",
    ]  # fmt: skip
    np.testing.assert_array_equal(frame["INCOME"], [12.5, 5.0, np.nan])
    (tmp_path / "s.rda").unlink()
    with pytest.raises(InputError, match="are not beside it"):
        read_table(tmp_path / "s.asc")


def csv(folder: Path, text: str, **options: object) -> pd.DataFrame:
    (folder / "s.csv").write_bytes(text.encode("latin-1"))
    return read_table(folder / "s.csv", csv=CsvOptions(**options) if options else None)


def test_decimal_commas_beside_a_column_with_points(tmp_path: Path) -> None:
    text = "pid;Einkommen brutto;Gewicht\n30.1;1250,50;10,5\n30.2;900,00;9,25\n31.1;;8,75\n"
    frame = csv(tmp_path, text)
    np.testing.assert_array_equal(frame["Einkommen brutto"], [1250.5, 900.0, np.nan])
    assert frame["Gewicht"].tolist() == [10.5, 9.25, 8.75]
    assert frame["pid"].tolist() == [30.1, 30.2, 31.1]
    assert "decimal comma in 'Einkommen brutto' and 'Gewicht'" in frame.attrs["reading"]
    as_text = csv(tmp_path, text, types={"pid": "text"})
    assert as_text["pid"].tolist() == ["30.1", "30.2", "31.1"]


def test_thousands_with_decimal_commas(tmp_path: Path) -> None:
    frame = csv(tmp_path, "x;y\n1.000,50;2,5\n20,25;3,5\n")
    assert frame["x"].tolist() == [1000.5, 20.25]
    declared = csv(tmp_path, "x;y\n1.000;2,5\n20;3,5\n", thousands=".", decimal=",")
    assert declared["x"].tolist() == [1000, 20]
    unclear = csv(tmp_path, "x;y\n1.000;2,5\n2.500;3,5\n")
    assert unclear["x"].tolist() == ["1.000", "2.500"]
    assert any("may stand between thousands" in note for note in unclear.attrs["reading"])


def test_missing_codes_of_all_and_of_some_columns(tmp_path: Path) -> None:
    text = "age;income;region\n99;-9;a\n40;100;-9\n"
    everywhere = csv(tmp_path, text, missing=[-9])
    assert everywhere["income"].isna().tolist() == [True, False]
    assert everywhere["region"].isna().tolist() == [False, True]
    assert everywhere["age"].tolist() == [99, 40]
    some = csv(tmp_path, text, missing={"income": [-9], "age": [99]})
    assert some["age"].isna().tolist() == [True, False]
    assert some["region"].tolist() == ["a", "-9"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separator": ";;"}, "Give one sign"),
        ({"decimal": ";"}, "is not allowed"),
        ({"decimal": ",", "thousands": ","}, "two different signs"),
        ({"encoding": "latin-99"}, "is unknown"),
        ({"types": {"x": "float"}}, "types.x: 'float' is unknown"),
        ({"types": {"z": "text"}}, "is not a column of the file"),
        ({"types": {"y": "number"}}, "has cells that are not numbers"),
    ],
)
def test_faulty_csv_options(tmp_path: Path, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        csv(tmp_path, "x;y\n1;a\n2;b\n", **options)


def test_options_override_what_is_guessed(tmp_path: Path) -> None:
    assert csv(tmp_path, "x,y|z\n1,2|3\n", separator="|")["x,y"].tolist() == [1.2]
    assert csv(tmp_path, "x;y\n1,5;2\n", decimal=".")["x"].tolist() == ["1,5"]
    (tmp_path / "s.csv").write_bytes("x;y\n€;1\n".encode("cp1252"))
    frame = read_table(tmp_path / "s.csv", csv=CsvOptions(encoding="cp1252"))
    assert frame["x"].tolist() == ["€"]


def test_a_header_alone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a header but no row"):
        csv(tmp_path, "x;y\n")


def test_a_dictionary_from_outside(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("sex,w\n1,2\n2,3\n-9,4\n")
    text = '[sex]\nlabel = "Sex"\nvalues = [[1, "male"], [2, "female"]]\nmissing = [[-9, ""]]\n'
    (tmp_path / "d.toml").write_text(text)
    survey = read_survey(
        tmp_path / "s.csv", dictionary=read_dictionary(tmp_path / "d.toml"), weight="w"
    )
    assert survey.frame["sex"].tolist()[:2] == ["male", "female"]
    assert dictionary_of(survey.frame)["sex"].label == "Sex"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sex\n", "is not TOML"),
        ("sex = 1\n", "is not a table"),
        ("[sex]\nlabl = 'x'\n", "Did you mean 'label'"),
        ("[sex]\nvalues = [1]\n", "not a list of pairs"),
        ("[sex]\nmeasure = 'metric'\n", "is not allowed"),
    ],
)
def test_faulty_dictionaries(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Dictionary.from_toml(text)


def test_every_reader_says_what_is_wrong_with_a_damaged_file(tmp_path: Path) -> None:
    for suffix in READERS:
        file = tmp_path / f"bad{suffix}"
        file.write_bytes(b"\x00\xff$FL2 nothing of the kind" * 20)
        if suffix in (".csv", ".txt", ".tsv"):
            continue
        with pytest.raises(InputError, match="bad"):
            read_table(file)


names = st.text(string.ascii_letters, min_size=1, max_size=12)
labels = st.text(st.characters(categories=("L", "N"), max_codepoint=0x24F), min_size=1, max_size=20)
variables = st.builds(
    Variable,
    name=names,
    label=labels,
    values=st.lists(
        st.tuples(st.integers(-99, 999), labels),
        max_size=5,
        unique_by=(lambda p: p[0], lambda p: p[1]),
    ).map(tuple),
    unit=labels,
    measure=st.sampled_from([None, "nominal", "ordinal", "scale"]),
    decimals=st.one_of(st.none(), st.integers(0, 6)),
)


@given(st.lists(variables, max_size=4, unique_by=lambda v: v.name))
def test_a_dictionary_survives_toml_and_plain_values(entries: list[Variable]) -> None:
    dictionary = Dictionary(entries)
    assert Dictionary.from_toml(dictionary.to_toml()) == dictionary
    assert Dictionary.from_dict(dictionary.to_dict()) == dictionary


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=3, max_size=12).filter(
        lambda cells: any(cell is not None for cell in cells)
    ),
    st.lists(labels, min_size=4, max_size=4, unique_by=str.strip).filter(
        lambda texts: all(text.strip() == text for text in texts)
    ),
    st.sampled_from([".sav", ".dta", ".rds", ".parquet"]),
)
def test_labels_survive_files(
    tmp_path: Path, cells: list[int | None], texts: list[str], suffix: str
) -> None:
    codes = [-1 if cell is None else cell for cell in cells]
    frame = pd.DataFrame({"x": pd.Categorical.from_codes(codes, texts), "n": range(len(codes))})
    variable = Variable("x", values=tuple((k + 5, text) for k, text in enumerate(texts)))
    file = tmp_path / f"s{suffix}"
    write_table(with_dictionary(frame, Dictionary([variable])), file)
    back = read_table(file)
    wanted = [None if cell is None else texts[cell] for cell in cells]
    assert back["x"].astype(object).where(back["x"].notna(), None).tolist() == wanted
    if suffix in (".sav", ".dta"):
        assert dictionary_of(back)["x"].values == variable.values


TAGGED = struct.unpack("<d", struct.pack("<II", 1954, 0x7FF00000 | ord("r")))[0]
"""``tagged_na("r")`` of haven."""


def haven_file(folder: Path) -> Path:
    """Write an .rds as the R package haven makes it: codes with labels and missing codes."""
    import rdata
    from rdata.conversion import to_r
    from rdata.parser import RObjectType

    columns: dict[str, tuple[list[float], dict[str, object]]] = {
        "sex": ([1.0, 2.0, -9.0, 1.0], {
            "label": "Sex", "labels": {"male": 1.0, "female": 2.0, "refused": -9.0},
            "na_values": np.array([-9.0]),
            "class": np.array(["haven_labelled_spss", "haven_labelled", "vctrs_vctr", "double"]),
        }),
        "income": ([812.5, -1.0, np.nan, 0.0], {
            "label": "Net income", "labels": {"not asked": -1.0},
            "na_range": np.array([-2.0, -1.0]),
            "class": np.array(["haven_labelled_spss", "haven_labelled", "vctrs_vctr", "double"]),
        }),
        "kids": ([1.0, np.nan, TAGGED, 0.0], {
            "label": "Children", "labels": {"none": 0.0, "refused": TAGGED},
            "class": np.array(["haven_labelled", "vctrs_vctr", "double"]),
        }),
    }  # fmt: skip

    def frame_of(data: pd.DataFrame, converter: Any) -> Any:
        objects = []  # symbols of R are numbered in the order in which they are written
        for values, attributes in columns.values():
            labels = attributes["labels"]
            assert isinstance(labels, dict)
            tag = converter.convert_to_r_sym("labels")
            names = converter.convert_to_r_attributes({"names": np.array(list(labels), dtype="U")})
            named = to_r.build_r_object(
                RObjectType.REAL, value=np.array(list(labels.values())), attributes=names
            )
            others = {key: value for key, value in attributes.items() if key != "labels"}
            rest = converter.convert_to_r_attributes(others)
            known = to_r.build_r_object(RObjectType.LIST, value=(named, rest), tag=tag)
            objects.append(
                to_r.build_r_object(
                    RObjectType.REAL, value=np.array(values), is_object=True, attributes=known
                )
            )
        built = to_r.dataframe_constructor(data, converter)
        built.value[:] = objects
        return built

    file = folder / "haven.rds"
    table = pd.DataFrame({name: values for name, (values, _) in columns.items()})
    table.index = pd.RangeIndex(1, 5)
    constructors = {
        pd.DataFrame: frame_of, pd.RangeIndex: to_r.rangeindex_constructor,
    }  # fmt: skip
    rdata.write_rds(file, table, constructor_dict=constructors)
    return file


def test_labels_and_missing_codes_of_haven_are_read(tmp_path: Path) -> None:
    frame = read_table(haven_file(tmp_path))
    dictionary = dictionary_of(frame)
    assert frame["sex"].astype(object).where(frame["sex"].notna(), None).tolist() == [
        "male", "female", None, "male",
    ]  # fmt: skip
    assert dictionary["sex"].values == ((1, "male"), (2, "female"), (-9, "refused"))
    assert dictionary["sex"].missing == ((-9, "refused"),)
    assert dictionary["sex"].label == "Sex"
    assert dictionary["income"].missing_ranges == ((-2.0, -1.0),)
    assert frame["income"].isna().tolist() == [False, True, True, False]
    assert str(frame["kids"].dtype) == "Int64"
    levels = read_table(haven_file(tmp_path), user_missing="level")
    assert levels["sex"].tolist() == ["male", "female", "refused", "male"]
    assert levels["kids"].isna().tolist() == [False, True, True, False]
    assert levels["kids_missing"].astype(object).fillna("").tolist() == ["", "", "refused", ""]


@pytest.mark.parametrize("suffix", [".por", ".xpt"])
def test_portable_files_are_read(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"s{suffix}"
    frame = pd.DataFrame({"HID": [1.0, 2.0], "INCOME": [812.5, np.nan], "TOWN": ["Graz", "Linz"]})
    write = {".por": pyreadstat.write_por, ".xpt": pyreadstat.write_xport}[suffix]
    write(frame, str(file), column_labels=["Household", "Net income", "Town"])
    back = read_table(file)
    assert back["HID"].tolist() == [1, 2]
    assert back["HID"].dtype == np.int64
    assert back["INCOME"].iloc[0] == 812.5
    assert back["INCOME"].isna().tolist() == [False, True]
    assert back["TOWN"].tolist() == ["Graz", "Linz"]
    assert dictionary_of(back)["INCOME"].label == "Net income"


def test_a_sas_data_set_is_read_with_labels_dates_and_missing_values(tmp_path: Path) -> None:
    file = tmp_path / "s.sas7bdat"
    write_sas7bdat(file, [
        Column("hid", [1, 2, 3], "Household"),
        Column("Ort", ["Köln", "Graz", "Linz an der Donau"], "Town", width=20),
        Column("income", [812.5, None, -3.25], "Net income"),
        Column("born", [0, 366, None], format="DATE"),
    ])  # fmt: skip
    other = pd.read_sas(file, encoding="utf-8")  # a reader of another hand: the file is sound
    back = read_table(file)
    assert back["hid"].dtype == np.int64
    assert back["Ort"].tolist() == ["Köln", "Graz", "Linz an der Donau"]
    assert back["born"].tolist()[:2] == [pd.Timestamp("1960-01-01"), pd.Timestamp("1961-01-01")]
    assert back["born"].isna().tolist() == [False, False, True]
    for name in back:
        pd.testing.assert_series_equal(back[name], other[name], check_dtype=False)
    assert [dictionary_of(back)[name].label for name in ("hid", "income")] == [
        "Household", "Net income",
    ]  # fmt: skip
    assert dictionary_of(back)["born"].kind == "date"


def test_whole_numbers_with_missing_ones_stay_whole(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("kids;share;none\n1;0.5;\n;0.25;\n3;;\n")
    frame = read_table(tmp_path / "s.csv")
    assert frame.dtypes.astype(str).to_dict()["kids"] == "Int64"
    assert frame["share"].dtype == frame["none"].dtype == np.float64
    for suffix in (".sav", ".dta", ".rds", ".xpt"):
        write_table(frame[["kids"]], tmp_path / f"s{suffix}")
        assert str(read_table(tmp_path / f"s{suffix}")["kids"].dtype) == "Int64", suffix


def test_delimited_text_is_written_with_options(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.0], "b": ["ä", "x"]})
    path = tmp_path / "file.csv"
    write_table(frame, path, csv=CsvOptions(separator=";", decimal=",", encoding="latin-1"))
    assert path.read_bytes().splitlines() == [b"a;b", b"1,5;\xe4", b"2,0;x"]
    with pytest.raises(OutputError, match="the sign 'ä' is not in ascii"):
        write_table(frame, path, csv=CsvOptions(encoding="ascii"))
    assert path.read_bytes().startswith(b"a;b")


def test_stata_files_are_for_the_version_that_is_asked_for(tmp_path):
    frame = pd.DataFrame({"x": [1.5, 2.0]})
    for version, release in ((8, b"\x71"), (15, b"<stata_dta><header><release>119")):
        write_table(frame, tmp_path / "a.dta", dta_version=version)
        assert (tmp_path / "a.dta").read_bytes().startswith(release)
    for name, wrong in (("a.dta", 16), ("a.csv", 13)):
        with pytest.raises(InputError, match=r"Give 8 to 15, for \.dta only"):
            write_table(frame, tmp_path / name, dta_version=wrong)


def test_one_text_among_numbers_is_a_code_for_missing_and_is_written_again(tmp_path: Path) -> None:
    values = [*map(str, range(100, 140)), "N"]
    pd.DataFrame({"x": values, "y": [*values[1:], "9!"], "z": ["N", "1"] * 20 + ["2"]}).to_csv(
        tmp_path / "a.csv", index=False
    )
    frame = read_table(tmp_path / "a.csv")
    assert frame["x"].dropna().tolist() == list(range(100, 140))
    assert frame.attrs["reading"] == ["'N' as missing in 'x'"]
    assert dictionary_of(frame)["x"].missing_code == "N"
    assert frame["y"].iloc[-1] == "9!"  # may be a number with a note
    assert set(frame["z"]) == {"N", "1", "2"}  # levels
    write_table(frame, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == (tmp_path / "a.csv").read_text()
