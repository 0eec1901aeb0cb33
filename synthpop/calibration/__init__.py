"""Calibration of survey weights to known totals."""
