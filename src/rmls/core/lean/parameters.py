"""Parameters of a constructor, kept under their names: what scikit-learn expects of a base."""

from __future__ import annotations

from copy import deepcopy
from inspect import signature
from typing import Any


class KeepsParameters:
    """Base of an estimator: every parameter of ``__init__`` is an attribute of that name.

    Examples
    --------
    >>> class Model(KeepsParameters):
    ...     def __init__(self, *, size=1):
    ...         self.size = size
    >>> Model(size=3).get_params(), Model().set_params(size=2).size
    ({'size': 3}, 2)
    """

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; those of an estimator inside are not taken apart."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Any:
        """Set parameters."""
        for name, value in params.items():
            if name not in self._get_param_names():
                raise ValueError(f"{name!r} is no parameter of {type(self).__name__}")
            setattr(self, name, value)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self))


def copy_parameters(estimator: Any) -> Any:
    """Return an estimator with copies of the parameters and nothing that was fitted."""
    if not isinstance(estimator, KeepsParameters):
        return deepcopy(estimator)
    params = estimator.get_params(deep=False).items()
    return type(estimator)(**{name: copy_parameters(value) for name, value in params})
