"""Households as a layer: collapse to one row per household, run a method, expand to the members."""
