"""Methods that perturb or coarsen a file."""
