"""Local suppression: plan, search of cells, counting, households first, attack back."""
