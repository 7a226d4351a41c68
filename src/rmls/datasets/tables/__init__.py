"""Tables of texts and labels: CSV, JSON lines, Parquet, spreadsheets, folders, data frames."""

from rmls.datasets.tables.text_table import TextTable, iterate_texts, read_texts

__all__ = ["TextTable", "iterate_texts", "read_texts"]
