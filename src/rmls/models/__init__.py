"""The estimators: one published method per file."""

from rmls.models.baseline import AllIrrelevant
from rmls.models.rmls import RMLS

__all__ = ["RMLS", "AllIrrelevant"]
