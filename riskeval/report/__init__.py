"""HTML pages of an assessment, a protected file and a comparison."""
