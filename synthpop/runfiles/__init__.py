"""Recipes as TOML files: reading, writing, running, and the template for a new survey."""
