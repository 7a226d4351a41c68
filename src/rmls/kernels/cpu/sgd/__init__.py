"""Stochastic gradient passes over sampled labels."""
