"""Indicators of poverty and inequality, with their variance."""
