"""Estimators that read texts."""
