"""The journey: create."""
