"""Whole commands: with hostile arguments, and killed at any moment."""
