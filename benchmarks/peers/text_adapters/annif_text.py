"""Annif through its own command line: load-vocab, train, index.

English texts, hence the analyzer ``snowball(english)``; the backend's settings are its defaults but
for those given. Sets: threshold and limit with the best macro-F on a tenth of the training rows, by
a project that was trained on the others.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from adapters.contract import rank_entries

from text_adapters.contract import TextAdapter, best_cut, cut

SUBJECT = "http://example.org/label/"
PROJECT = """[{name}]
name={name}
language=en
backend={backend}
analyzer=snowball(english)
vocab=labels
limit=100
{settings}
"""


class AnnifText(TextAdapter):
    """One backend of Annif."""

    distributions = ("annif",)

    def __init__(self, threads, folder, backend="omikuji", **settings):
        super().__init__(threads, folder)
        self.backend, self.given = backend, settings
        self.home = Path(folder, "annif")
        self.variables = {
            **os.environ,
            "ANNIF_DATADIR": str(self.home / "data"),
            "ANNIF_PROJECTS": str(self.home / "projects.cfg"),
            "NLTK_DATA": find_tokenizer(),
        }

    def settings(self):
        own = {"own": f"score >= {self.cut[0]:.4g}, at most {self.cut[1]}"}
        return {"backend": self.backend, "analyzer": "snowball(english)", **self.given, **own}

    def call(self, *arguments):
        """Run a command of Annif."""
        command = [str(Path(sys.executable).with_name("annif")), *map(str, arguments)]
        subprocess.run(command, env=self.variables, check=True)

    def train(self, problem):
        self.home.mkdir()
        lines = "\n".join(f"{name}={value}" for name, value in self.given.items())
        (self.home / "projects.cfg").write_text(
            "".join(
                PROJECT.format(name=name, backend=self.backend, settings=lines)
                for name in ("held", "all")
            )
        )
        subjects = self.home / "labels.tsv"
        subjects.write_text(
            "".join(f"<{SUBJECT}{i}>\t{name}\n" for i, name in enumerate(problem.names)),
            encoding="utf-8",
        )
        self.call("load-vocab", "--language", "en", "labels", subjects)
        fit, held = problem.parts()
        self._learn("held", *fit)
        self.cut = best_cut(self._index("held", held[0], 50), held[1], len(problem.names))
        self._learn("all", problem.texts, problem.labels)

    def _learn(self, project, texts, labels):
        path = self.home / f"{project}.csv"
        write_documents(path, texts, labels)
        # tf-idf has one job whatever is asked for.
        self.call("train", "--jobs", self.threads, project, path)

    def _index(self, project, texts, k):
        path, found = self.home / "rows.csv", self.home / "found.jsonl"
        write_documents(path, texts)
        options = ("--limit", k, "--force", "--no-include-doc", "--output", found)
        self.call("index", *options, project, path)
        return read_suggestions(found, len(texts))

    def rank(self, texts, k):
        return self._index("all", texts, k)

    def decide(self, texts, ranked):
        return {"own": cut(ranked, *self.cut)}

    def model_bytes(self):
        folder = self.home / "data" / "projects" / "all"
        files = [path for path in folder.rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files if "train" not in path.name)


def find_tokenizer():
    """Return the folder of NLTK's sentence tokenizer, which another package has beside it."""
    import importlib.util

    found = importlib.util.find_spec("llama_index")
    places = [] if found is None else found.submodule_search_locations
    for place in places:
        return str(Path(place, "core", "_static", "nltk_cache"))
    return os.environ.get("NLTK_DATA", "")


def write_documents(path, texts, labels=None):
    """Write documents as a CSV file that Annif reads."""
    columns = ["document_id", "text"] + (["subject_uris"] if labels is not None else [])
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for number, text in enumerate(texts):
            row = [number, text.replace("\0", " ")]
            if labels is not None:
                row.append(" ".join(f"<{SUBJECT}{label}>" for label in labels[number]))
            writer.writerow(row)


def read_suggestions(path, n_rows):
    """Read what ``annif index`` wrote as `Ranked`."""
    rows, labels, scores = [], [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            document = json.loads(line)
            for result in document["results"]:
                rows.append(int(document["document_id"]))
                labels.append(int(result["uri"].removeprefix(SUBJECT)))
                scores.append(float(result["score"]))
    return rank_entries(
        n_rows, np.array(rows, np.int64), np.array(labels, np.int64), np.array(scores)
    )


def make(threads, folder, **options):
    """Return the adapter."""
    return AnnifText(threads, folder, **options)
