"""Variance of estimates by resampling."""
