"""Partial pooling: how far the model of a stratum is shrunk towards the pooled one."""
