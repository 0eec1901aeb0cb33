"""Messages: errors and warnings, what a result says and shows, numbers as text, languages."""
