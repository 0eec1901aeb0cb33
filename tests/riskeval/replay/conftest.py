"""The replays live in the folder of the examples; the public file is beside the repository."""

from __future__ import annotations

import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
if str(EXAMPLES) not in sys.path:
    sys.path.append(str(EXAMPLES))
