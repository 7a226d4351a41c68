"""Text to sparse rows: words, word pairs and character sequences, weighted by tf-idf."""
