"""A method of a study: an estimator, its grid of parameters and its decision rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from rmls.core.errors import InputError

PRESETS = (None, "paper")
NO_RULE = "none"


@dataclass(frozen=True)
class Method:
    """A method of a study with its grid of parameters.

    Attributes
    ----------
    method : str
        Name of an estimator of `rmls.models`.
    label : str
        Its name in tables, by default ``method``.
    preset : {None, "paper"}
        ``"paper"`` starts from ``paper()`` of the estimator, its settings in the paper's study.
    params : dict
        Parameters; a list is a choice of values, and every combination is run. ``"none"`` is None
        where a parameter may be that, because a file cannot say it.
    tune : dict
        Parameters with lists of values, of which every run takes the combination with the best
        example F, under the first rule, on inner folds of its training rows.
    decisions : tuple of str
        Decision rules; one fit serves all of them. By default the estimator's own, which is
        ``"none"`` where it has no choice.
    """

    method: str
    label: str = ""
    preset: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    decisions: tuple[str, ...] = ()
    tune: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.label:
            # The dataclass is frozen; its defaults depend on other fields.
            object.__setattr__(self, "label", self.method)
        own = _check_method(self)
        for name in ("params", "tune"):
            object.__setattr__(self, name, _read_none(self, getattr(self, name)))
        object.__setattr__(self, "decisions", self.decisions or (own.get("decision", NO_RULE),))
        _check_values(self)

    def make(self, params: dict[str, Any]) -> Any:
        """Return the estimator, with its preset and some parameters.

        Examples
        --------
        >>> Method("PLST", preset="paper").make({"ridge": 3.0}).ridge
        3.0
        """
        from rmls import models

        estimator = getattr(models, self.method)
        model = estimator.paper() if self.preset == "paper" else estimator()
        return model.set_params(**params)

    def grid(self) -> Iterator[dict[str, Any]]:
        """Yield every combination of the parameters.

        Examples
        --------
        >>> list(Method("RMLS", params={"n_components": [5, 9], "l2": 0.1}).grid())
        [{'n_components': 5, 'l2': 0.1}, {'n_components': 9, 'l2': 0.1}]
        """
        yield from _combinations(self.params)

    def candidates(self) -> Iterator[dict[str, Any]]:
        """Yield every combination of the parameters to tune; one without any if there are none.

        Examples
        --------
        >>> list(Method("PLST", tune={"ridge": [0.1, 3.0]}).candidates())
        [{'ridge': 0.1}, {'ridge': 3.0}]
        """
        yield from _combinations(self.tune)


def _combinations(params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    # A single value is a choice of one.
    choices = [v if isinstance(v, list) else [v] for v in params.values()]
    for values in product(*choices):
        yield dict(zip(params, values, strict=True))


def _read_none(method: Method, params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with None for ``"none"`` where that is a value."""
    from rmls import models

    options = getattr(models, method.method).declared_options()
    optional = {name for name in params if name in options and options[name].optional}

    def read(name: str, value: Any) -> Any:
        return None if name in optional and value == "none" else value

    return {
        name: [read(name, one) for one in value] if isinstance(value, list) else read(name, value)
        for name, value in params.items()
    }


def _check_method(method: Method) -> dict[str, Any]:
    """Refuse unknown estimators and parameters; returns the estimator's own parameters."""
    from rmls import models

    # A study is run on numbers.
    names = [name for name in models.__all__ if name not in models.READS_TEXT]
    if method.method not in names:
        known = ", ".join(names)
        raise InputError(f"unknown method {method.method!r}; known are {known}.")
    estimator = getattr(models, method.method)
    if method.preset not in PRESETS or (method.preset and not hasattr(estimator, "paper")):
        having = ", ".join(name for name in names if hasattr(getattr(models, name), "paper"))
        raise InputError(f"{method.label}: preset must be 'paper', and only {having} have it.")
    own = estimator.paper() if method.preset else estimator()
    known_params: dict[str, Any] = own.get_params(deep=False)
    both = [name for name in method.tune if name in method.params]
    if both:
        raise InputError(f"{method.label}: {both[0]!r} is given and tuned; drop one of them.")
    for name in [*method.params, *method.tune]:
        if name not in known_params:
            listed = ", ".join(sorted(known_params)) or "none"
            raise InputError(
                f"{method.label}: {method.method} has no parameter {name!r}; it has {listed}."
            )
    return known_params


def _check_values(method: Method) -> None:
    """Refuse values that an estimator does not take, and rules that it could not serve."""
    for kind in ("params", "tune"):
        for name, values in getattr(method, kind).items():
            if values == []:
                raise InputError(f"{method.label}: {kind}.{name} is empty; give it a value.")
    try:
        for params, tuned in product(method.grid(), method.candidates()):
            model = method.make({**params, **tuned})
            # What an estimator itself would say at the beginning of a fit, and at its end.
            model._check_options()
            for decision in method.decisions:
                model._check_rule(None if decision == NO_RULE else decision)
    except InputError as error:
        raise InputError(f"{method.label}: {error}") from None
