"""Runs: commands, engines, chunks, kernels, what identifies a run."""
