"""A few linear machines a label, trained on balanced rows: IRUS, COCOA, reverse."""
