"""A fitted ranker goes on: labels come and go, and new rows are learned."""
