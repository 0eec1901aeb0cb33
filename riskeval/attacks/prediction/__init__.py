"""Attribute disclosure by prediction (RAPID)."""
