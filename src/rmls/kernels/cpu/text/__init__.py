"""Kernels that read text: words found and numbered, terms counted."""
