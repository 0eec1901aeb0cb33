"""The finished population: its blocks, its record, and its folder on disk."""
