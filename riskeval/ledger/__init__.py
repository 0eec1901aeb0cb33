"""The private register of a survey's releases, and what they tell together."""
