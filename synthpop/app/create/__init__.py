"""The journey "create a population"."""
