"""The journey: protect."""
