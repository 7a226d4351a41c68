"""The model that `rmls serve --demo` serves: trained once, and kept."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from rmls.cli.shared.console import note, notes
from rmls.core.errors import RmlsError
from rmls.core.version import VERSION


def demo_folder() -> Path:
    """Return a folder of the user's caches, or a temporary one where there is none to write to."""
    given = os.environ.get("XDG_CACHE_HOME")
    caches = Path(given) if given else Path.home() / ".cache"
    folder = caches / "rmls" / f"demo-{VERSION}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except (OSError, RuntimeError):
        pass
    return Path(tempfile.mkdtemp(prefix="rmls-demo-"))


def make_demo_model(folder: Path, quiet: bool) -> Path:
    """Return the model of the works of art, trained unless it is there."""
    import rmls

    path = folder / "model"
    try:
        rmls.load(path)
        return path
    except (OSError, RmlsError):
        pass
    from rmls.datasets import load_artworks
    from rmls.models import RMLSRanker, TextRanker
    from rmls.models.shared.progress import showing
    from rmls.review import review_model

    console = notes(quiet)
    note(console, "training", "a model of 6,400 works of art, once; about half a minute")
    works = load_artworks().train
    model = TextRanker(RMLSRanker(keep_rows=True), n_jobs=-1)
    with showing(not quiet):
        model.fit(works.columns, works.labels)
    model.training_record_ = {"data": "works of art (Tate, CC0)", "n_rows": len(works)}
    # What the page of the model shows; it takes a tenth of the time of the training.
    model.quality_record_ = review_model(model, train=works, n_jobs=-1).record
    model.save(path)
    return path
