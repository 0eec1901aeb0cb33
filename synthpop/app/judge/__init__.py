"""The journey "judge a release"."""
