"""What every estimator shares: the template, probabilities, ranking, threads, the archive."""
