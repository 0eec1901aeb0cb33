"""Membership inference and distances to the closest record."""
