"""What is to be run: methods, data sets, folds; from a file, or the study of the paper."""
