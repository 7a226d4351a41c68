"""Byte kernels of the text readers.

``codes`` names what can be wrong with a line, ``tokens`` reads numbers, ``rows`` the lines of
``labels index:value`` and ``arff`` those of ARFF. Problems are reported as a code with the byte and
the line; the readers make the sentence. A number that cannot be rounded with certainty is left to
Python: its slot and bytes are listed.
"""
