"""Files that say what labels are called: tables, mappings and thesauri."""

from rmls.datasets.label_text.reading import read_label_text

__all__ = ["read_label_text"]
