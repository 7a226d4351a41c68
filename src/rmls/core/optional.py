"""Import optional dependencies, or say how to install them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from rmls.core.errors import MissingExtraError


def import_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import ``module``, or raise a sentence that names the extra to install.

    Examples
    --------
    >>> import_extra("json", "plots", "drawing").__name__
    'json'
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"{purpose} needs {package}, which is not installed; "
            f"install it with: pip install 'rmls[{extra}]'."
        ) from error
