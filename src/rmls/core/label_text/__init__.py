"""What labels are called: names, descriptions and parents, in the order of a model's labels."""

from rmls.core.label_text.alignment import AlignedLabelText
from rmls.core.label_text.table import LabelText
from rmls.core.label_text.words_or_code import is_words

__all__ = ["AlignedLabelText", "LabelText", "is_words"]
