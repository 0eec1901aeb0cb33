"""A protection session: the file, its steps and its history."""
