"""Hot loops of single methods."""
