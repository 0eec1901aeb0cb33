"""Disclosure of synthetic data by counting key combinations: repU, DiSCO, DCAP and TCAP."""
