"""The peers: which adapter runs each of them, and the one table of what is installed for it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ADAPTERS = Path(__file__).resolve().parent / "adapters"
REPOSITORY = ADAPTERS.parents[2]


@dataclass(frozen=True)
class Recipe:
    """One way to install a peer: pip is called once per step, with these arguments."""

    steps: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Peer:
    """One row of the table.

    Attributes
    ----------
    environment : str
        Key of `RECIPES`; empty for the interpreter that runs the script.
    options : dict
        Passed to the adapter's ``make``.
    raw : bool
        Whether it gets the raw features even where the others get tf-idf.
    most_labels : int, optional
        Refused above that many labels unless asked for.
    """

    name: str
    adapter: Path
    environment: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    raw: bool = False
    most_labels: int | None = None


def recipe(*steps: str) -> Recipe:
    """Make a recipe from pip's arguments, one string per call."""
    return Recipe(tuple(tuple(step.split()) for step in steps))


# The one place with versions. Alternatives are tried in order, on every interpreter at hand.
RECIPES: dict[str, tuple[Recipe, ...]] = {
    # This checkout with what it requires and no more: what else is installed takes memory, too.
    "rmls": (Recipe((("-e", str(REPOSITORY)),)),),
    "omikuji": (recipe("omikuji==0.5.2 scipy"),),
    "napkinxc": (recipe("napkinxc==0.7.2 scipy"),),
    # Only its linear part is used, but it requires torch; the version that was tried goes first.
    "pecos": (recipe("torch==2.13.0", "libpecos==1.2.8"), recipe("libpecos==1.2.8")),
    "libmultilabel": (recipe("libmultilabel==0.10.0"),),
    # The original is built from source and knows only numpy 1; the fork has wheels.
    "fasttext": (recipe("fasttext==0.9.3 numpy<2 scipy"), recipe("fasttext-numpy2==0.10.4 scipy")),
    # The original's setup fails under build isolation; the fork keeps it going.
    "lightfm": (
        recipe(
            "wheel setuptools<66 numpy<2 scipy<1.12 scikit-learn requests",
            "--no-use-pep517 lightfm==1.17",
        ),
        recipe("lightfm-next==1.19.0 scipy"),
    ),
    "boomer": (recipe("mlrl-boomer==0.12.3 scipy"),),
    "sklearn": (recipe("scikit-learn==1.9.1"), recipe("scikit-learn")),
    # The second holds a copy of the sentence tokenizer that Annif would fetch when it first runs.
    "annif": (recipe("annif[omikuji]==1.4.3", "--no-deps llama-index-core==0.14.25"),),
}


def _peer(name: str, environment: str, adapter: str | None = None, **details: Any) -> Peer:
    return Peer(name, ADAPTERS / f"{adapter or environment}.py", environment, **details)


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        _peer("pecos-tree", "pecos", options={"variant": "tree"}),
        _peer("pecos-ovr", "pecos", options={"variant": "ovr"}),
        _peer("napkinxc-plt", "napkinxc", options={"variant": "tree"}),
        _peer("napkinxc-ovr", "napkinxc", options={"variant": "ovr"}),
        _peer("libmultilabel-tree", "libmultilabel", options={"variant": "tree"}),
        _peer("libmultilabel-ovr", "libmultilabel", options={"variant": "ovr"}),
        _peer("omikuji", "omikuji"),
        _peer("sklearn-ovr", "sklearn", "sklearn_ovr", most_labels=1000),
        _peer("fasttext", "fasttext", raw=True),
        _peer("lightfm", "lightfm"),
        _peer("boomer", "boomer"),
    )
}


def rmls_method(text: str) -> Peer:
    """Return the row of an rmls method: ``RMLS`` or ``RMLS:n_components=50,max_iter=20``."""
    method, _, given = text.partition(":")
    parameters = {}
    for part in filter(None, given.split(",")):
        key, _, value = part.partition("=")
        parameters[key] = _read_value(value)
    options = {"method": method, "parameters": parameters}
    return Peer(f"rmls {text}", ADAPTERS / "rmls_models.py", "rmls", options)


def _read_value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def choose_peers(names: list[str] | None) -> list[Peer]:
    """Return the peers of the given names; a group such as ``pecos`` stands for its variants."""
    chosen = {}
    for name in names if names is not None else PEERS:
        found = [peer for peer in PEERS.values() if name in (peer.name, peer.environment)]
        if not found:
            raise SystemExit(f"unknown peer {name!r}; known are {', '.join(PEERS)}.")
        chosen.update({peer.name: peer for peer in found})
    return list(chosen.values())
