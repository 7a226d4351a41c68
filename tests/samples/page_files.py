"""What the code blocks of pages find: small files of the names that they use, and names."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from text_samples import make_texts, write_csv

import rmls
from rmls.datasets import load_artworks, make_longtail, save
from rmls.decide import TopK

TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://example.org/sea> a skos:Concept ; skos:prefLabel "sea"@en .
<http://example.org/harbour> a skos:Concept ; skos:prefLabel "harbour"@en ;
    skos:broader <http://example.org/sea> .
"""
BREADS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://example.org/1> a skos:Concept ; skos:prefLabel "bread"@en, "Brot"@de, "leipä"@fi .
<http://example.org/2> a skos:Concept ; skos:prefLabel "rye bread"@en .
<http://example.org/3> a skos:Concept ; skos:prefLabel "wheat bread"@en .
<http://example.org/4> a skos:Concept ; skos:prefLabel "roll"@en .
<http://example.org/5> a skos:Concept ; skos:prefLabel "Semmel"@de .
"""
SUBJECTS = """id,name,synonyms,parent
b1,bread,loaf|loaves,
b2,rye bread,,b1
b3,wheat bread,white bread,b1
"""
FEEDBACK = {"text": "A boat at sea", "accepted": ["sea"], "rejected": ["wooded"], "added": []}


def write_works(path: Path, part: Any) -> None:
    """Write works of art as the page on texts does."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([*part.fields, "subjects"])
        labels = ("|".join(row) for row in part.labels)
        rows.writerows([*texts, cell] for texts, cell in zip(part.texts, labels, strict=True))


def write_fasttext(path: Path) -> None:
    texts, labels = make_texts(120)
    rows = zip(texts, labels, strict=True)
    path.write_text("".join(f"{' '.join('__label__' + x for x in y)} {text}\n" for text, y in rows))


def write_annif(path: Path) -> None:
    texts, labels = make_texts(120)
    rows = zip(texts, labels, strict=True)
    lines = (f"{t}\t{' '.join(f'<http://example.org/{x}>' for x in y)}\n" for t, y in rows)
    path.write_text("".join(lines))


def write_lots(path: Path) -> None:
    texts, labels = make_texts(120)
    lines = [
        f"{text},a note,artist {n % 5},shop {n % 3},{n},{'|'.join(labels[n])}"
        for n, text in enumerate(texts)
    ]
    path.write_text("\n".join(["title,notes,artist,shop,price,tags", *lines]) + "\n")


def write_laws(path: Path) -> None:
    import gzip

    texts, labels = make_texts(60)
    with gzip.open(path, "wt") as file:
        for text, names in zip(texts, labels, strict=True):
            file.write(json.dumps({"title": text, "abstract": text, "subjects": names}) + "\n")


@cache
def small() -> Any:
    return make_longtail(400, 120, 30, test_size=0.25)


FILES: dict[str, Callable[[Path], Any]] = {
    "works.csv": lambda path: write_works(path, load_artworks().train),
    "new.csv": lambda path: write_works(path, load_artworks().test),
    "tickets.csv": lambda path: write_csv(path, 200),
    "lots.csv": write_lots,
    "without-price.csv": lambda path: path.write_text(
        "title,notes,artist,shop\nboats,,artist 1,shop 1\n"
    ),
    "train.ft": write_fasttext,
    "test.ft": write_fasttext,
    "corpus.tsv": write_annif,
    "thesaurus.ttl": lambda path: path.write_text(TURTLE),
    "breads.ttl": lambda path: path.write_text(BREADS),
    "subjects.csv": lambda path: path.write_text(SUBJECTS),
    "breads.csv": lambda path: path.write_text(SUBJECTS),
    "names.csv": lambda path: path.write_text("id,name\nsolar eclipse,solar eclipse\n"),
    "renamed.csv": lambda path: path.write_text("solar eclipse,eclipse of the sun\n"),
    "gone.txt": lambda path: path.write_text("wooded\n"),
    "pairs.csv": lambda path: path.write_text("old,new\ncaricature,satire\n"),
    "parts.json": lambda path: path.write_text('{"sea": ["calm sea", "rough sea"]}'),
    "feedback.jsonl": lambda path: path.write_text(json.dumps(FEEDBACK) + "\n"),
    "corrections.csv": lambda path: path.write_text(
        "title,artist,medium,date,subjects\nA windmill,Unknown,Oil paint on canvas,1800,windmill\n"
    ),
    "laws.jsonl.gz": write_laws,
    "abstracts.jsonl.gz": write_laws,
    "new.jsonl.gz": write_laws,
    "letter.txt": lambda path: path.write_text("Boats in the harbour\n"),
    "X.npz": lambda path: sparse.save_npz(path, small().train.X),
    "Y.npz": lambda path: sparse.save_npz(path, small().train.Y),
    "train.xmc": lambda path: save(small().train, path),
    "test.xmc": lambda path: save(small().test, path),
    "train.txt": lambda path: save(small().train, path, format="xmc"),
    "new.npz": lambda path: save(small().test, path),
    "train.arff": lambda path: save(small().train, path),
}


def write_files(page: str, folder: Path) -> None:
    """Write the files that a page speaks of; those that it writes itself are written again."""
    for name, write in FILES.items():
        if name in page:
            write(folder / name)


def make_names(page: str) -> dict[str, Any]:
    """Return what pages call their data without saying where it comes from."""
    data = small()
    texts, labels = make_texts(120)
    if "subjects.csv" in page:
        labels = [[f"b{1 + len(row)}"] for row in labels]
    counts = np.asarray(data.train.Y.sum(axis=0)).ravel()
    model = rmls.RMLS(n_components=8, max_iter=3).fit(data.train.X, data.train.Y)
    return {
        "__name__": "page",
        "X": data.train.X,
        "Y": data.train.Y,
        "X_new": data.test.X,
        "X_test": data.test.X,
        "Y_test": data.test.Y,
        "Y_train": data.train.Y,
        "Y_pred": TopK(25).select(model.rank(data.test.X, 25)),
        "train_counts": counts,
        "label_names": [f"label {n}" for n in range(len(counts))],
        "names": [f"label {n}" for n in range(len(counts))],
        "ranking": model.rank(data.test.X, 5),
        "model": model,
        "texts": texts,
        "labels": labels,
        "table": {"title": texts, "artist": ["a"] * 120, "shop": ["b"] * 120, "price": [1.5] * 120},
        "encode": lambda given: np.ones((len(given), 4), np.float32),
        "Z": np.random.default_rng(0).standard_normal((120, 4)).astype(np.float32),
        "W": np.zeros((4, 250), np.float32),
        "bias": np.zeros(3, np.float32),
    }
