"""The distribution of a variable given its predictors, with fallback and rules."""
