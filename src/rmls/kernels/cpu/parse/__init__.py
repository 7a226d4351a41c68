"""Hot loops of the readers of text formats."""
