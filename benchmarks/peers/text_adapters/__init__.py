"""One file for every system that is given raw text."""
