"""How much of what an analyst needs a release has kept."""
