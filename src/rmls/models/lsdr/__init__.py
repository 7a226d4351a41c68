"""Label-space dimension reduction: encode the labels, regress, decode."""
