"""What the columns of a survey are: roles, totals, classes, copies, household variables."""
