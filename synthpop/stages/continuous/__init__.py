"""Continuous and semi-continuous variables: the stage, its options and its methods."""
