"""The version of the distribution; both packages carry it."""

__version__ = "0.2.0"
