"""A service around trained models: suggestions, explanations and feedback over HTTP, and a page."""

from rmls.core.lazy import lazy_names

__all__ = ["Settings", "make_app"]

__getattr__ = lazy_names(__name__, {"Settings": ".settings", "make_app": ".app"})
