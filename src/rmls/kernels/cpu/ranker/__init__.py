"""Classifiers on lists of labels: training and scoring."""
