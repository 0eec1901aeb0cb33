"""The pages for users of R and of other packages: every function has a row, our names exist."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import riskeval
import synthpop
from riskeval import ProtectionSession, protect, utility
from synthpop import (
    FittedPipeline,
    Population,
    calibration,
    heaping,
    indicators,
    sampling,
    tails,
    weighted,
)
from synthpop.sampling import Study
from tests.console import call

PAGE = Path(__file__).resolve().parents[1] / "docs" / "coming-from" / "r.md"
TEXT = PAGE.read_text(encoding="utf-8")
OTHERS = PAGE.with_name("python.md").read_text(encoding="utf-8")

OBJECTS = {"session": ProtectionSession, "fitted": FittedPipeline, "population": Population}
OBJECTS |= {"study": Study, "riskeval": riskeval}
OBJECTS |= {module.__name__.rpartition(".")[2]: module for module in (protect, utility)}
OBJECTS |= {"heaping": heaping, "indicators": indicators, "sampling": sampling}
OBJECTS |= {"tails": tails, "weighted": weighted, "calibration": calibration}

EXPORTED = {
    "simPop": """
        addKnownMargins addWeights<- calibPop calibSample calibVars checkCol chooseSILCvars
        conditional.dis contingencyWt correctHeaps correctSingleHeap corWt covWt
        crossValidation factorNA getAge getBreaks getBwplotStats getCat getCdf
        getCitizenship getEcoStat getExclude getGender getHsize ipu ipu2 kishFactor
        loadSILC manageSimPopObj
        meanWt mergeSILC modifySILC panelSpBwplot panelSpCdfplot pop pop<- popData popObj
        popObj<- prepanelSpCdfplot prepBwplotStats prepCdf quantileWt restructureHHid samp
        samp<- sampHH sampleData sampleObj sampleObj<- simCategorical simComponents
        simContinuous simEUSILC simInitSpatial simRelation simStructure spBwplot
        spBwplotStats spCdf spCdfplot specifyInput spMosaic sprague spTable tableObj tableWt
        univariate.dis utility utilityIndicator utilityModal varWt whipple""",
    "sdcMicro": """
        addGhostVars addNoise AI_applyAnonymization AI_createSdcObj argus_microaggregation
        argus_rankswap calcRisks createDat createNewID createSdcObj dataGen dRisk dRiskRMD
        dUtility extractManipData freq freqCalc generateStrata get.sdcMicroObj globalRecode
        groupAndRename IL_correl IL_variables importProblem indivRisk infoLoss kAnon
        kAnon_violations ldiversity LocalRecProg localSupp localSuppression mafast
        measure_risk mergeHouseholdData microaggregation microaggrGower modRisk mvTopCoding
        nextSdcObj plotMicro pram query_llm rankSwap readMicrodata recordLinkage recordSwap
        removeDirectID report riskyCells sdcApp selectHouseholdData set.sdcMicroObj shuffle
        strataVar<- suda2 topBotCoding undolast valTable varToFactor varToNumeric
        writeSafeFile""",
    "laeken": """
        arpr arpt bootVar calibVars calibWeights eqInc eqSS fitPareto gini gpg incMean
        incMedian incQuintile is.arpr is.gini is.gpg is.indicator is.prop is.qsr is.rmpg
        meanExcessPlot minAMSE paretoQPlot paretoScale paretoTail prop qsr replaceOut
        replaceTail reweightOut rmpg shrinkOut thetaHill thetaISE thetaLS thetaMoment
        thetaPDC thetaQQ thetaTM thetaWML variance weightedMean weightedMedian
        weightedQuantile""",
    "simFrame": """
        aggregate brewer clusterRunSimulation clusterSetup contaminate ContControl
        DARContControl DataControl DCARContControl draw generate
        getStrataLegend getStrataSplit getStrataTable getStratumSizes getStratumValues head
        inclusionProb midzuno NAControl plot runSim runSimulation SampleControl SampleSetup
        setNA setup show simApply simBwplot SimControl simDensityplot SimResults simSample
        simSapply simXyplot srs Strata stratify summary SummarySampleSetup tail tille
        TwoStageControl ups""",
}


def section(package: str) -> str:
    return TEXT.split(f"\n## {package}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("package", EXPORTED)
def test_every_exported_function_has_a_row(package: str) -> None:
    first_cells = [line.split(" | ")[0] for line in section(package).splitlines()]
    listed = {name for cell in first_cells for name in re.findall(r"`([^`]+)`", cell)}
    assert set(EXPORTED[package].split()) - listed == set()


def lookup(name: str) -> object:
    """The object of a dotted name: public in one of the packages, or member of an object."""
    first, *rest = name.split(".")
    packages = [package for package in (synthpop, riskeval) if hasattr(package, first)]
    value = OBJECTS.get(first) or getattr(packages[0], first)
    for part in rest:
        value = getattr(value, part)
    return value


def rows() -> Iterator[tuple[list[str], str]]:
    """The functions in the heading above a row, and the cell with our names."""
    functions: list[str] = []
    for line in (TEXT + OTHERS).splitlines():
        if line.startswith("#"):
            functions = re.findall(r"`([^`]+)`", line.partition("`: ")[2])
        elif line.startswith("| ") and not line.startswith("| ---"):
            yield functions, line.split(" | ")[1]


def names() -> list[tuple[str, list[str]]]:
    return sorted(
        {
            (name, tuple(functions) if name.endswith("=") else ())
            for functions, cell in rows()
            for name in re.findall(r"`([^`]+)`", cell)
        }
    )


@pytest.mark.parametrize(("name", "functions"), names(), ids=lambda value: str(value))
def test_every_name_of_ours_exists(name: str, functions: tuple[str, ...], tmp_path: Path) -> None:
    if name.endswith("="):
        parameters = {p for f in functions for p in inspect.signature(lookup(f)).parameters}
        assert name[:-1] in parameters, f"{name} is not an argument of {functions}"
    elif name.startswith(("synthpop ", "riskeval ")):
        package, command, *options = name.split()
        main = synthpop_main if package == "synthpop" else riskeval_main
        shown = call(main, command, "--help", cwd=tmp_path)
        assert shown.returncode == 0
        assert all(option in shown.stdout for option in options)
    else:
        function, _, argument = name.removesuffix(")").partition("(")
        value = lookup(function)
        if argument:
            options = inspect.signature(value).parameters  # type: ignore[arg-type]
            assert argument.removesuffix("=") in options


def synthpop_main() -> None:
    from synthpop.cli import main

    main()


def riskeval_main() -> None:
    from riskeval.cli import main

    main()


def test_there_are_names_to_check() -> None:
    assert len(names()) > 250
