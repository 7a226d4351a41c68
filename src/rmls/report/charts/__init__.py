"""Kinds of charts, as SVG of the width of a phone: wider screens stand them side by side."""
