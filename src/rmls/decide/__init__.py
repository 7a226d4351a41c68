"""Decision rules: from scores to label sets."""

from rmls.decide.rules import Cardinality, CardinalityCount, Rule, Threshold, TopK, make_rule

__all__ = ["Cardinality", "CardinalityCount", "Rule", "Threshold", "TopK", "make_rule"]
