"""Risk of sample uniques under log-linear models."""
