"""What a numpydoc docstring says of each parameter, also of a class that is not imported."""

from __future__ import annotations

import ast
import inspect
import re
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

# Up to the next underlined heading, or the end.
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", re.M | re.S)


class Documented(NamedTuple):
    """What a docstring says of one parameter.

    Attributes
    ----------
    kind : str
        What stands between the name and the default.
    default : str or None
        As it is written; None where the docstring names none.
    text : str
        The description in one line.
    """

    kind: str
    default: str | None
    text: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The names in braces, where there are any."""
        braces = re.match(r"\{(.*?)\}", self.kind)
        return tuple(re.findall(r'"(.*?)"', braces[1])) if braces else ()

    @property
    def optional(self) -> bool:
        """Whether None is a value as well."""
        return self.kind.endswith("or None")

    @property
    def summary(self) -> str:
        """The first sentence without markup and without what it refers to.

        Examples
        --------
        >>> Documented("int", "1", 'Rows; see `rmls.load`. ``"auto"`` is 1.').summary
        'Rows.'
        """
        first = re.split(r"(?<=\.) ", self.text, maxsplit=1)[0]
        return re.sub(r"; see .*", ".", first).replace("`", "")


def read_parameters(doc: str) -> dict[str, Documented]:
    """Return what the section *Parameters* of a docstring says of each of them.

    Parameters
    ----------
    doc : str
        Without indentation, as `inspect.getdoc` returns it.

    Examples
    --------
    >>> doc = "Fit.\\n\\nParameters\\n----------\\na, b : int, default=1\\n    Counts."
    >>> read_parameters(doc)["b"]
    Documented(kind='int', default='1', text='Counts.')
    """
    section = _SECTION.search(doc)
    heads: dict[str, tuple[str, str | None]] = {}
    lines: dict[str, list[str]] = {}
    names: list[str] = []
    for line in section[1].splitlines() if section else []:
        if line and not line.startswith(" "):
            listed, _, rest = line.partition(" : ")
            kind, _, default = rest.partition(", default=")
            names = [name.strip() for name in listed.split(",")]
            heads |= dict.fromkeys(names, (kind, default or None))
            lines |= {name: [] for name in names}
        else:
            for name in names:
                lines[name].append(line.strip())
    return {name: Documented(*head, " ".join(lines[name]).strip()) for name, head in heads.items()}


def read_source_doc(module: str, name: str) -> str:
    """Return the docstring of a class without importing its module, empty without the source."""
    spec = find_spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return ""
    # The syntax tree is enough: none of the module's imports is run.
    tree = ast.parse(Path(spec.origin).read_text("utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    return inspect.cleandoc(ast.get_docstring(classes[0]) or "") if classes else ""
