"""Studies: grids of runs that can be stopped and resumed, their tables and their report."""
