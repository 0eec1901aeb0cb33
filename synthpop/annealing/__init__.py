"""Search for the households that meet known totals, and their allocation to small areas."""
