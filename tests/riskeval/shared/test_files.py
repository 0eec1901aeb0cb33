"""The original and the release, read together."""

import numpy as np
import pandas as pd

from riskeval.shared.files import read_files, read_pair
from synthpop.microdata.messages.errors import Faults


def test_files_come_with_their_weights():
    table = pd.DataFrame({"a": [1.0, 2.0], "w": [3, 1]})
    files = read_files(Faults("example"), table, table, "w", None)
    assert files.wx.tolist() == [3.0, 1.0]
    assert files.wy is None


def test_a_pair_of_files_comes_as_numbers():
    table = pd.DataFrame({"a": [1.0, None], "b": [3, 4]})
    x, y, names = read_pair(Faults("example"), table, table, ["b", "a"])
    np.testing.assert_array_equal(x, [[3.0, 1.0], [4.0, np.nan]])
    np.testing.assert_array_equal(x, y)
    assert names == ("b", "a")
