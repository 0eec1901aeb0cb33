"""Audit of a generator: whether what it makes tells who was in its survey, stage by stage."""
