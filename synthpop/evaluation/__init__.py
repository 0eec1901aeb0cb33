"""A weighted sample beside a population: counting both the same way, and their distances."""
