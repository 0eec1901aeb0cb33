"""Measures of disclosure risk of a file."""
