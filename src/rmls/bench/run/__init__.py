"""Runs of a study: each in a process of its own, measured, and stored as lines of a file."""
