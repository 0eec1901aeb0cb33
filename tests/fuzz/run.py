"""One input after the other: what comes out, and whether it is ours."""

from __future__ import annotations

import tempfile
import traceback
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path

import synthpop
from synthpop.microdata.messages.errors import InputError, MicrodataError, MicrodataWarning
from tests.fuzz.hostile import HostileMaker
from tests.fuzz.inputs import Maker
from tests.fuzz.targets import HOSTILE, targets

ROOT = Path(synthpop.__file__).parents[1]


@dataclass(frozen=True)
class Finding:
    """An input that ended in something else than a result or one of our errors."""

    target: str
    seed: int
    number: int
    what: str
    place: str

    def __str__(self) -> str:
        again = f'python -m tests.fuzz --target "{self.target}" --seed {self.seed}'
        return f"{self.what}\n    at {self.place}\n    {again} --input {self.number}"


def try_input(target: str, seed: int, number: int, odd: float = 0.0) -> Finding | None:
    """Run one input; None where a result, or an error of ours with its faults, came out."""
    maker = HostileMaker if target.endswith(HOSTILE) else Maker
    make = maker(seed, zlib.crc32(target.encode()), number, odd=odd)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MicrodataWarning)
        try:
            targets()[target](make, Path(folder))
        except MicrodataError as error:
            if isinstance(error, InputError) and not error.faults:
                return Finding(target, seed, number, "an InputError without a fault", str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            frames = traceback.extract_tb(error.__traceback__)
            own = [f for f in frames if Path(f.filename).is_relative_to(ROOT / "synthpop")
                   or Path(f.filename).is_relative_to(ROOT / "riskeval")]  # fmt: skip
            if not own and isinstance(make, HostileMaker):
                return None  # pandas refuses the input itself
            last = (own or frames)[-1]
            place = f"{Path(last.filename).name}:{last.lineno} in {last.name}"
            what = (
                f"{type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}"
            )
            return Finding(target, seed, number, what, place)
    return None
