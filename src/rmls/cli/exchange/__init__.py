"""Commands that give models to others, and take theirs."""
