"""Age heaping: how strong it is, smooth single years from five-year groups, and its correction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthpop.microdata.messages.lazy import attach

if TYPE_CHECKING:
    from synthpop.heaping.correction import HeapCorrection as HeapCorrection
    from synthpop.heaping.correction import correct_heaps as correct_heaps
    from synthpop.heaping.index import whipple_index as whipple_index
    from synthpop.heaping.multipliers import sprague as sprague
else:
    __getattr__, __dir__, __all__ = attach(__name__)
