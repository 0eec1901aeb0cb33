"""What the rooms of riskeval share: original and release as files, a measured number, its text."""
