"""What other packages say of releases: run by the interpreter of an environment that has them.

``PEERS/bin/python benchmarks/peer_scores.py FOLDER`` reads ``original.csv``, ``holdout.csv``,
``release.csv`` and ``roles.json`` of each folder inside, and prints one line of JSON a score:
package, measure, folder, score (the larger, the more is told), processor seconds. A package that
cannot be imported is named with the reason. Imports nothing of this project.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

ROLES = ("keys", "targets")
MOST_ATTACKS = 200


class Case:
    """One release with its original and its hold-out."""

    def __init__(self, folder: Path) -> None:
        names = json.loads((folder / "roles.json").read_text(encoding="utf-8"))
        self.keys, self.targets = (names[role] for role in ROLES)
        self.columns = [*self.keys, *self.targets]
        self.original, self.holdout, self.release = (
            pd.read_csv(folder / f"{name}.csv")[self.columns]
            for name in ("original", "holdout", "release")
        )
        self.text = [name for name in self.columns if self.original[name].dtype.kind not in "if"]
        for name in self.columns:  # the packages want the same types in all files
            if name in self.text or self.release[name].dtype.kind not in "if":
                for frame in (self.original, self.holdout, self.release):
                    frame[name] = frame[name].astype(str)


def anonymeter_scores(case: Case) -> Iterator[tuple[str, Callable[[], float]]]:
    from anonymeter.evaluators import (
        InferenceEvaluator,
        LinkabilityEvaluator,
        SinglingOutEvaluator,
    )

    files = {"ori": case.original, "syn": case.release, "control": case.holdout}
    n = min(MOST_ATTACKS, len(case.original), len(case.holdout))

    def lower(evaluator: object, **options: str) -> float:
        evaluator.evaluate(**options)  # type: ignore[attr-defined]
        return float(evaluator.risk(confidence_level=0.95).ci[0])  # type: ignore[attr-defined]

    for mode in ("univariate", "multivariate"):
        yield (
            f"singling out, {mode}",
            lambda mode=mode: lower(
                SinglingOutEvaluator(**files, n_attacks=n, n_cols=3, max_attempts=5_000, seed=1),
                mode=mode,
            ),
        )
    yield (
        "linkability",
        lambda: lower(
            LinkabilityEvaluator(**files, n_attacks=n, aux_cols=(case.keys, case.targets))
        ),
    )
    for secret in case.targets:
        yield f"inference, {secret}", lambda secret=secret: lower(
            InferenceEvaluator(
                **files, n_attacks=n, aux_cols=case.keys, secret=secret,
                regression=secret not in case.text,
            )
        )  # fmt: skip


def sdmetrics_scores(case: Case) -> Iterator[tuple[str, Callable[[], float]]]:
    from sdmetrics.single_table import DCRBaselineProtection, DCROverfittingProtection

    metadata = {
        "columns": {
            name: {"sdtype": "categorical" if name in case.text else "numerical"}
            for name in case.columns
        }
    }
    of_table = {"tables": {"release": metadata}}

    def nearer(metric: type, **files: pd.DataFrame) -> float:
        try:
            found = metric.compute_breakdown(metadata=of_table, table_name="release", **files)
        except (TypeError, ValueError, KeyError):
            found = metric.compute_breakdown(metadata=metadata, **files)
        return -float(found["score"])

    yield "DCR overfitting", lambda: nearer(
        DCROverfittingProtection, real_training_data=case.original,
        synthetic_data=case.release, real_validation_data=case.holdout,
    )  # fmt: skip
    yield (
        "DCR baseline",
        lambda: nearer(DCRBaselineProtection, real_data=case.original, synthetic_data=case.release),
    )


def syntheval_scores(case: Case) -> Iterator[tuple[str, Callable[[], float]]]:
    from syntheval import SynthEval

    judge = SynthEval(
        case.original, holdout_dataframe=case.holdout, cat_cols=case.text, verbose=False
    )

    def score(metric: str) -> float:
        table = judge.evaluate(case.release, **{metric: {}})
        table = judge._raw_results if table is None else table
        if isinstance(table, pd.DataFrame):
            column = next(name for name in table.columns if str(name) in ("val", "value"))
            return float(table[column].iloc[0]) * (-1 if metric in ("dcr", "nndr") else 1)
        values = table[metric]
        key = {"eps_risk": "priv_loss", "mia": "MIA recall", "hit_rate": "hit rate",
               "dcr": "mDCR", "nndr": "NNDR"}[metric]  # fmt: skip
        return float(values[key]) * (-1 if metric in ("dcr", "nndr") else 1)

    for metric in ("eps_risk", "hit_rate", "mia", "dcr", "nndr"):
        yield metric, lambda metric=metric: score(metric)


PACKAGES = {
    "anonymeter": anonymeter_scores, "SDMetrics": sdmetrics_scores, "SynthEval": syntheval_scores,
}  # fmt: skip


def main() -> None:
    """Print a line of JSON a score."""
    warnings.simplefilter("ignore")
    folders = sorted(path.parent for path in Path(sys.argv[1]).glob("*/release.csv"))
    for package, scores_of in PACKAGES.items():
        for folder in folders:
            line: dict[str, object] = {"package": package, "folder": folder.name}
            quiet = io.StringIO()
            try:
                with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                    scores = list(scores_of(Case(folder)))
            except ImportError as missing:
                print(json.dumps(line | {"missing": str(missing)}), flush=True)
                break
            except Exception as fault:  # noqa: BLE001 a package may end in anything
                print(json.dumps(line | {"fault": repr(fault)[:200]}), flush=True)
                continue
            for measure, compute in scores:
                started = time.process_time()
                found: dict[str, object] = {"measure": measure}
                try:
                    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                        found["score"] = compute()
                except Exception as fault:  # noqa: BLE001 a package may end in anything
                    found["fault"] = repr(fault)[:200]
                found["seconds"] = time.process_time() - started
                print(json.dumps(line | found), flush=True)


if __name__ == "__main__":
    main()
