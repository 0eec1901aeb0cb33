"""The frames that a session hands out: to be read; what is written into them would be lost."""

from __future__ import annotations

from typing import Any, NoReturn

import pandas as pd

from synthpop.microdata.messages.errors import InputError

REMEDY = (
    "Use a verb, or copy the frame, change the copy and hand it back: "
    'edited = session.data.copy(); ...; session.replace(edited, "what was done").'
)


class _Shown(type):
    """Any frame counts as one, so that comparisons of frames do not ask for this class."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, pd.DataFrame)


class ShownFrame(pd.DataFrame, metaclass=_Shown):
    """A frame that refuses new values; copies and all that is computed from it are plain frames.

    Examples
    --------
    >>> frame = shown_frame(pd.DataFrame({"age": [31]}))
    >>> frame["age"] = 32
    Traceback (most recent call last):
    ...
    synthpop.microdata.messages.errors.InputError: ProtectionSession: 1 fault
      - data: is not changed in place. Use a verb, or copy the frame, change the copy and hand it \
back: edited = session.data.copy(); ...; session.replace(edited, "what was done").
    >>> type(frame.copy()).__name__
    'DataFrame'
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise InputError.of("ProtectionSession", "data", "is not changed in place", REMEDY)


def shown_frame(frame: pd.DataFrame) -> ShownFrame:
    """Return a frame that refuses new values, without a copy of its values."""
    shown = ShownFrame(frame, copy=False)
    shown.attrs = frame.attrs
    return shown
