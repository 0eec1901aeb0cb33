"""Key combinations: their table of counts, and records that agree on them."""
