"""The five intruder scenarios that match sample records with the population."""
