"""The journey: judge."""
