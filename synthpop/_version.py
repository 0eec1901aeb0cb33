"""The version of the distribution; both packages carry it."""

__version__ = "0.1.0"
