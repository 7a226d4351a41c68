"""From raw features to rows the models train well on."""

from rmls.features.normalize import MODES, Normalizer, fit_normalizer, unit_rows

__all__ = ["MODES", "Normalizer", "fit_normalizer", "unit_rows"]
