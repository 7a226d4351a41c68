"""Decision rules by their names."""

from __future__ import annotations

import re
from typing import Any

from rmls.core.errors import InputError
from rmls.decide.batch import MacroF1TopK
from rmls.decide.expected import ExpectedF1, ExpectedJaccard
from rmls.decide.rules import Cardinality, Rule, Threshold, TopK
from rmls.decide.thresholds import MacroF1, MicroF1
from rmls.decide.weighted import MacroRecallTopK, PropensityTopK, TailTopK

_ALL: tuple[type[Rule], ...] = (
    Cardinality,
    TopK,
    Threshold,
    ExpectedF1,
    ExpectedJaccard,
    MicroF1,
    MacroF1,
    PropensityTopK,
    MacroRecallTopK,
    MacroF1TopK,
    TailTopK,
)
RULES: dict[str, type[Rule]] = {rule.name: rule for rule in _ALL}


def make_rule(spec: str | Rule | dict[str, Any]) -> Rule:
    """Return a rule from its name, its `as_dict` form, or itself.

    Parameters
    ----------
    spec : str, dict or Rule
        Names are ``cardinality``, ``top_5``, ``threshold``, ``round``, ``f1``, ``jaccard``,
        ``micro_f1``, ``macro_f1``, ``psp@5``, ``macro_recall@5``, ``macro_f1@5`` and
        ``tail@5=0.3``, with any number of labels for 5.

    Examples
    --------
    >>> make_rule("top_3"), make_rule("psp@3")
    (TopK(k=3), PropensityTopK(k=3))
    >>> make_rule("round")
    Threshold(value=0.0, metric='example_f1')
    >>> make_rule("tail@5=0.3")
    TailTopK(k=5, tail=0.3)
    >>> make_rule("best")
    Traceback (most recent call last):
    rmls.core.errors.InputError: decision must be one of cardinality, top_5, threshold, round, f1...
    """
    if isinstance(spec, Rule):
        return spec
    values = dict(spec) if isinstance(spec, dict) else _read_name(spec)
    rule = RULES.get(str(values.pop("name", None)))
    if rule is None:
        raise InputError(
            f"decision must be one of {', '.join(shown_names())} or a rule of rmls.decide; "
            f"got {spec!r}."
        )
    try:
        return rule(**values)
    except TypeError as error:
        raise InputError(
            f"the decision rule {rule.name!r} cannot be made from {spec!r}."
        ) from error


def shown_names() -> list[str]:
    """Return the names as a user writes them.

    Examples
    --------
    >>> shown_names()[:4]
    ['cardinality', 'top_5', 'threshold', 'round']
    """
    special = {"top_k": "top_5", "tail@k": "tail@5=0.5", "threshold": "threshold, round"}
    shown = ", ".join(special.get(name, name.replace("@k", "@5")) for name in RULES)
    return shown.split(", ")


def _read_name(text: Any) -> dict[str, Any]:
    """Return the name and the values in a text such as ``tail@5=0.3``."""
    if not isinstance(text, str):
        return {"name": text}
    if text == "round":
        return {"name": "threshold", "value": 0.0}
    if match := re.fullmatch(r"top_([0-9]{1,9})", text):
        return {"name": "top_k", "k": int(match[1])}
    if match := re.fullmatch(r"([a-z_0-9]+)@([0-9]{1,9})(?:=([0-9.]+))?", text):
        values: dict[str, Any] = {"name": f"{match[1]}@k", "k": int(match[2])}
        return values if match[3] is None else {**values, "tail": _number(match[3], text)}
    return {"name": text}


def _number(digits: str, text: str) -> float:
    try:
        return float(digits)
    except ValueError:
        raise InputError(f"the decision rule {text!r} needs a number behind '='.") from None
