"""Loops over rows, compiled; NumPy arrays in and out."""
