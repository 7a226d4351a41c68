"""Hot loops of the decision rules."""
