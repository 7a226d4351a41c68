"""Studies: grids of runs that can be stopped and resumed, their tables and their report.

``study`` says what is to be run, ``run`` runs and stores it, ``tables`` brings results together,
``pages`` makes the report; each imports only those before it.
"""
