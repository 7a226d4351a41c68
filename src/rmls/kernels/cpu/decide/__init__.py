"""Hot loops of the decision rules.

``blocks`` counts scores and turns them into probabilities, ``expectation`` finds the sizes of sets
with the best expected F or Jaccard value, ``gfm`` the best sets under any joint distribution, and
``ascent`` the sets of a batch with the best macro-F.
"""
