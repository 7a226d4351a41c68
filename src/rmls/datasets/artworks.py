"""A real text set in the package: works of art and what they show."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files

from rmls.datasets.tables import TextTable, read_texts

N_TRAIN = 6400


@dataclass(frozen=True)
class Artworks:
    """Works of art, split into two parts.

    Attributes
    ----------
    train, test : TextTable
        Title, artist, medium and date of works, and the subjects that they show.
    """

    train: TextTable
    test: TextTable


def load_artworks() -> Artworks:
    """Return 8,000 works of the Tate collection with what they show, 6,400 of them to train on.

    A work has a title, an artist, a medium and a date; its labels are the subjects that curators
    gave it, 6 to 7 of some 6,000, half of which occur once.

    Notes
    -----
    A random sample, without the works of J. M. W. Turner, which are half of the collection, of the
    metadata that Tate published on GitHub (tategallery/collection, 2014) under CC0 1.0: it is in
    the public domain. Only subjects of the finest level are kept.

    Examples
    --------
    >>> from rmls.datasets import load_artworks
    >>> works = load_artworks()
    >>> len(works.train), len(works.test), works.train.fields
    (6400, 1600, ('title', 'artist', 'medium', 'date'))
    """
    with as_file(files("rmls.datasets") / "samples" / "artworks.csv.xz") as path:
        table = read_texts(
            path, text=["title", "artist", "medium", "date"], labels="subjects", separator="|"
        )
    return Artworks(table.take(slice(0, N_TRAIN)), table.take(slice(N_TRAIN, None)))
