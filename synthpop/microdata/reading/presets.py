"""Columns of known formats of surveys: names that publishers give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from synthpop.microdata.messages.message import message


@dataclass(frozen=True, slots=True)
class Preset:
    """What the columns of a format are; names without regard to case.

    Several names of a role are those of several editions of the format.
    """

    title: str
    marks: tuple[str, ...]  # columns that a file of this format has, and few others
    # role, "age" or "sex" -> names of its column
    columns: Mapping[str, tuple[str, ...]]
    note: str = ""  # what is to be known of the weight


DHS_WEIGHT = message("six decimals are implied, and the weights add up to the sample")
PRESETS: tuple[Preset, ...] = (
    Preset("American Community Survey (PUMS)", ("SERIALNO", "PWGTP", "AGEP"), {
        "household": ("SERIALNO",), "weight": ("PWGTP",), "household_weight": ("WGTP",),
        "age": ("AGEP",), "sex": ("SEX",),
    }),
    Preset("IPUMS", ("SERIAL", "PERNUM"), {
        "household": ("SERIAL",), "weight": ("PERWT", "ASECWT", "WTFINL"),
        "household_weight": ("HHWT", "ASECWTH", "HWTFINL"),
        "psu": ("CLUSTER",), "strata": ("STRATA", "STATEFIP", "GEOLEV1"), "age": ("AGE",),
        "sex": ("SEX",),
    }),
    Preset("EU-SILC", ("DB030", "RB050"), {
        "household": ("DB030", "RX030"), "weight": ("RB050",),
        "household_weight": ("DB090",), "strata": ("DB040",),
        "psu": ("DB060",), "age": ("RX020", "AGE"), "sex": ("RB090",),
    }),
    Preset("Demographic and Health Surveys, household members", ("HHID", "HVIDX", "HV005"), {
        "household": ("HHID",), "weight": ("HV005",),
        "psu": ("HV021",), "strata": ("HV023", "HV022", "HV024"), "age": ("HV105",),
        "sex": ("HV104",),
    }, note=DHS_WEIGHT),
    Preset("Demographic and Health Surveys, women or men", ("CASEID", "V005", "V012"), {
        "person": ("CASEID",), "weight": ("V005",), "psu": ("V021",),
        "strata": ("V023", "V022", "V024"), "age": ("V012",),
    }, note=DHS_WEIGHT),
    Preset("Living Standards Measurement Study (ISA)", ("HHID", "INDIV", "EA"), {
        "household": ("HHID",), "weight": ("WT_WAVE4", "WT_WAVE5", "WT_FINAL", "WEIGHT"),
        "strata": ("ZONE", "STATE"), "psu": ("EA",), "sex": ("S1Q2",),
        "age": ("S1Q4", "S1Q6"),
    }),
    Preset("Living Standards Measurement Study (Ethiopia)", ("HOUSEHOLD_ID", "INDIVIDUAL_ID"), {
        "household": ("HOUSEHOLD_ID",), "person": ("INDIVIDUAL_ID",),
        "weight": ("PW_W5", "PW_W4", "PW_W3", "PW_W2", "PW_W1", "PW"), "psu": ("EA_ID",),
        "strata": ("SAQ01", "REGION"), "sex": ("S1Q02", "HH_S1Q03"),
        "age": ("S1Q03A", "HH_S1Q04A"),
    }),
    Preset("National Household Travel Survey", ("HOUSEID", "PERSONID"), {
        "household": ("HOUSEID",), "weight": ("WTPERFIN", "WTPERFIN5D", "WTPERFIN2D"),
        "household_weight": ("WTHHFIN", "WTHHFIN5D"),
        "strata": ("CENSUS_R", "HHSTATE"), "age": ("R_AGE_IMP", "R_AGE"),
        "sex": ("R_SEX_IMP", "R_SEX"),
    }),
    Preset("ActivitySim, persons with households", ("HOUSEHOLD_ID", "PNUM", "PTYPE"), {
        "household": ("HOUSEHOLD_ID",), "person": ("PERSON_ID", "PERID"), "age": ("AGE",),
        "sex": ("SEX",),
    }),
)  # fmt: skip
"""Formats whose columns are known; the layouts are those of the publishers' codebooks."""


def preset_of(columns: Iterable[str]) -> tuple[Preset, dict[str, str]] | None:
    """Return the format of a file and role -> column, as the file writes it; None where unknown.

    Examples
    --------
    >>> found = preset_of(["hhid", "hvidx", "hv005", "hv104", "hv105"])
    >>> found[0].title, found[1]["age"]
    ('Demographic and Health Surveys, household members', 'hv105')
    """
    written = {name.upper(): name for name in map(str, columns)}
    fitting = [one for one in PRESETS if all(mark in written for mark in one.marks)]
    if not fitting:
        return None
    preset = max(fitting, key=lambda one: len(one.marks))
    found = {
        role: next((written[name] for name in names if name in written), None)
        for role, names in preset.columns.items()
    }
    return preset, {role: name for role, name in found.items() if name is not None}
