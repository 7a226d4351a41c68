"""Beside this file stand the samples that the tests of all parts of the bench import."""
