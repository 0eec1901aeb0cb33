"""Small calls of `losses` and what they return."""

from __future__ import annotations

import pandas as pd

from synthpop.microdata.formats.losses import losses
from synthpop.microdata.frame.dictionary import Dictionary, Variable, with_dictionary


def test_example_of_losses() -> None:
    sex = Variable("sex", "Sex", values=((1, "male"), (2, "female")))
    frame = with_dictionary(pd.DataFrame({"sex": ["male"]}), Dictionary([sex]))
    assert losses(frame, "people.csv") == [
        "labels of variables: 'sex'",
        "codes of categories (their labels are written): 'sex'",
    ]
    assert losses(frame, "people.parquet") == []
