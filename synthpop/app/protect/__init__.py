"""The journey "protect a file"."""
