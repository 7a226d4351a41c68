"""Linear classifiers on lists of labels.

``pairs`` turns lists of labels by row into lists of rows by label, ``dual`` trains a classifier for
every label on its list, ``listed`` scores the labels of a list and combines scores.
"""
