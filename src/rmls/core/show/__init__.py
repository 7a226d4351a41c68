"""What notebooks show: pieces of HTML that need nothing else."""
