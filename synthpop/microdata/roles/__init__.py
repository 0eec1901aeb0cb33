"""A file with its roles: which column is the household, the weight, the stratum."""
