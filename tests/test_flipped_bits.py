"""No flipped bit of anything that is stored is read as other data."""

import pytest

from tests.flipped_bits import FACTS, KINDS, flips

QUICK = [kind for kind in KINDS if kind != FACTS]


@pytest.mark.parametrize(
    ("number", "kinds"), [(150, QUICK), pytest.param(1500, list(KINDS), marks=pytest.mark.slow)]
)
def test_no_flipped_bit_is_read_as_other_data(number, kinds, tmp_path) -> None:
    counts = flips(tmp_path, number, 2, kinds)
    assert sum(counts.values()) == number
    assert {key: n for key, n in counts.items() if key[1] in ("silent", "foreign")} == {}
    assert sum(n for (_, end), n in counts.items() if end == "noticed") > 0.9 * number
