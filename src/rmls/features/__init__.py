"""From raw features and texts to rows the models train well on."""

from rmls.core.lazy import lazy_names
from rmls.features.normalize import MODES, Normalizer, fit_normalizer, unit_rows

__all__ = ["MODES", "Normalizer", "TextFeatures", "fit_normalizer", "unit_rows"]

__getattr__ = lazy_names(__name__, {"TextFeatures": ".text.text_features"})
