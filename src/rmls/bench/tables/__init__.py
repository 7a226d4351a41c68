"""Results brought together: means, ranks, tables, and the comparison of two studies."""
