"""From raw features to rows the models train well on."""

from rmls.features.normalize import Normalizer, fit_normalizer, unit_rows

__all__ = ["Normalizer", "fit_normalizer", "unit_rows"]
