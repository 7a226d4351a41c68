"""RMLSRanker: vectors propose labels, sparse classifiers decide among them."""
