"""Mutated data files, and independent parsers that say what they hold."""
