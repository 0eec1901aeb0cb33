"""Attacks on a release by an intruder who knows something."""
