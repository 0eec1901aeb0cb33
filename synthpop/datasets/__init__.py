"""The embedded demo survey and the truth it was drawn from."""
