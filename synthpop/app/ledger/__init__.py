"""The journey "keep a ledger"."""
