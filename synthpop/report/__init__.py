"""From results to the facts of a report: numbers as text, sentences, tables."""
