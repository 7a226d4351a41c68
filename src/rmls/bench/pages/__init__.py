"""The report of a study: its sections and charts, made from tables and averages."""
