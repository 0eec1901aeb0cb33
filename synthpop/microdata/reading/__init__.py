"""What a column is, read from what it holds, from its labels and from its name."""
