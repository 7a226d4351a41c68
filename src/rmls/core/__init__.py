"""What every layer shares: the door for user input, `Ranking`, errors, seeds and threads."""
