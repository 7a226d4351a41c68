"""All kinds of cases by name, and the groups that they form."""

from __future__ import annotations

from . import broken
from .cases import Kind
from .files import readers
from .models import archives, fits
from .processes import commands, kills

MODULES = (readers, archives, fits, commands, kills)
KINDS: dict[str, Kind] = {kind.name: kind for module in MODULES for kind in module.KINDS}
GROUPS = list(dict.fromkeys(kind.group for kind in KINDS.values()))
# Only for the test of the campaign itself.
HIDDEN: dict[str, Kind] = {kind.name: kind for kind in broken.KINDS}


def kind_named(name: str) -> Kind:
    """Return the kind of a name, hidden ones too."""
    return {**KINDS, **HIDDEN}[name]
