"""RMLS: vectors of rows and labels, trained on relevant and sampled irrelevant labels."""
