"""What passes between the main script and a system that reads raw text: plain files.

Used on both sides, also inside the systems' environments: numpy only.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

HELD_OUT = 0.1


class TextProblem(NamedTuple):
    """What an adapter may see: the labels of the test rows are not in it.

    ``labels`` holds numbers, ``names`` what they stand for. ``held_out`` are the training rows that
    settings may be chosen on, the same ones for every system.
    """

    texts: list
    labels: list
    test_texts: list
    names: list
    held_out: np.ndarray

    def parts(self):
        """Return texts and labels without the held-out rows, and those of the held-out rows."""
        held = set(self.held_out.tolist())
        places = ([i for i in range(len(self.texts)) if i not in held], sorted(held))
        return tuple(
            ([self.texts[i] for i in some], [self.labels[i] for i in some]) for some in places
        )


def choose_held_out(n_rows):
    """Return a tenth of the rows, the same every time."""
    order = np.random.default_rng(0).permutation(n_rows)
    return np.sort(order[: max(1, round(HELD_OUT * n_rows))])


def write_problem(path, problem):
    """Write a `TextProblem` to a file, one text a line."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"names": problem.names, "n_train": len(problem.texts)}) + "\n")
        for text, labels in zip(problem.texts, problem.labels, strict=True):
            file.write(json.dumps({"text": text, "labels": labels}) + "\n")
        for text in problem.test_texts:
            file.write(json.dumps({"text": text}) + "\n")


def read_problem(path):
    """Read what `write_problem` wrote."""
    with Path(path).open(encoding="utf-8") as file:
        head = json.loads(next(file))
        rows = [json.loads(line) for line in file]
    train, test = rows[: head["n_train"]], rows[head["n_train"] :]
    return TextProblem(
        [row["text"] for row in train],
        [row["labels"] for row in train],
        [row["text"] for row in test],
        head["names"],
        choose_held_out(len(train)),
    )
