"""Fit a recipe on a survey and simulate a population with it, block by block."""
