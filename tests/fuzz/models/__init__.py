"""Damaged model folders, and hostile fits and predictions of every estimator."""
