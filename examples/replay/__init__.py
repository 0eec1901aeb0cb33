"""Parts of ``examples/replay_ses.py``: the file, the releases, the book's numbers, the pictures."""
