"""The steps of a recipe: each learns from the survey and adds columns to a block of people."""
