"""Several releases of one original side by side: ``riskeval.compare``."""
