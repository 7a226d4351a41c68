"""Parameters that suit the data, chosen on held-out rows and never worse than the defaults."""

from rmls.core.lazy import lazy_names

__all__ = ["Tuned", "tune"]

__getattr__ = lazy_names(__name__, {"Tuned": ".tuned", "tune": ".tuner"})
