"""What every layer shares: input of users, `Ranking`, errors, seeds and threads."""
