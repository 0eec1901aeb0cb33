"""Benchmarks: each prints rows; timings never decide a test."""
