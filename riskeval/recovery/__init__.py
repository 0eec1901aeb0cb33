"""What an intruder reads back from a released file: values that its holes do not hide."""
