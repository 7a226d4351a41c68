"""Reviews: what is wrong with a table of texts, and how good a model is on rows it has not seen."""

from rmls.core.lazy import lazy_names

__all__ = [
    "Finding",
    "ModelComparison",
    "Review",
    "TableCheck",
    "check_table",
    "compare",
    "label_issues",
    "review_model",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Finding": ".findings",
        "ModelComparison": ".comparison.model_comparison",
        "Review": ".model_review",
        "TableCheck": ".table_check",
        "check_table": ".table_check",
        "compare": ".comparison.model_comparison",
        "label_issues": ".issue_table",
        "review_model": ".model_review",
    },
)
