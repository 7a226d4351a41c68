"""Arrays that lie in files: those of stores, which are read, and scratch, which is written."""
