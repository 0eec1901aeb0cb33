"""Distributions and estimators on arrays: fit on the sample, evaluate per cell."""
