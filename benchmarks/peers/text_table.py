"""Results of systems on raw text as Markdown tables, one per data set."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

Row = dict[str, Any]
RANKED = {"P@1": "precision@1", "P@5": "precision@5", "PSP@1": "psp@1", "PSP@5": "psp@5"}
JUDGED = ("P@1", "P@5", "PSP@5", "macro-F")
COLUMNS = (*RANKED, "macro-F", "macro-F mean", "example-F")
COSTS = ("train s", "train CPU s", "ms/text", "model MB")
SEED = re.compile(r"-seed\d+$")


def format_tables(rows: list[Row]) -> str:
    """Return one table per data set; runs that differ in the seed alone are one line."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["dataset"], []).append(row)
    return "\n".join(_format_group(groups[name]) for name in sorted(groups))


def figures(row: Row) -> dict[str, float]:
    """Return the figures of a run that the table shows.

    ``macro-F`` is that of the label sets that the system gives by its own means: by the rule made
    for macro-F where it has one, else the best of its ways. ``macro-F mean``: as many labels for
    every row as a training row has on average.
    """
    metrics = row["metrics"]
    own = [metrics[f"set_{name}"] for name in row["sets"]]
    meant = [metrics[name] for name in ("set_macro_f1",) if name in metrics]
    found = {title: metrics["ranking"][name] for title, name in RANKED.items()}
    found["macro-F"] = max(values["macro_f1"] for values in meant or own)
    found["macro-F mean"] = metrics["set_mean"]["macro_f1"]
    found["example-F"] = max(values["example_f1"] for values in own)
    found["train s"], found["train CPU s"] = row["train_seconds"], row["train_cpu_seconds"]
    n_texts = int(re.search(r"and ([\d,]+) test", row["data"]).group(1).replace(",", ""))  # type: ignore[union-attr]
    found["ms/text"] = 1000 * row["predict_seconds"] / n_texts
    found["model MB"] = row["model_bytes"] / 1e6
    return found


def _format_group(rows: list[Row]) -> str:
    good: dict[str, list[dict[str, float]]] = {}
    for row in rows:
        if not row.get("failure"):
            good.setdefault(SEED.sub("", row["system"]), []).append(figures(row))
    means = {
        name: {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        for name, runs in good.items()
    }
    best = {key: max((line[key] for line in means.values()), default=0.0) for key in COLUMNS}
    lines = [f"### {rows[0]['dataset']}: {rows[0]['data']}", ""]
    lines += [f"| system | {' | '.join((*COLUMNS, *COSTS))} |"]
    lines += ["|---" * (1 + len(COLUMNS) + len(COSTS)) + "|"]
    for name, line in means.items():
        cells = [_format_cell(key, line[key], best[key], good[name]) for key in COLUMNS]
        cells += [f"{line[key]:.3g}" if line[key] < 100 else f"{line[key]:.0f}" for key in COSTS]
        runs = f" ({len(good[name])} seeds)" if len(good[name]) > 1 else ""
        lines.append(f"| {name}{runs} | {' | '.join(cells)} |")
    failures = [row for row in rows if row.get("failure")]
    if failures:
        lines += ["", *(f"* {row['system']}: {row['failure']}" for row in failures)]
    return "\n".join(lines) + "\n"


def _format_cell(key: str, value: float, best: float, runs: list[dict[str, float]]) -> str:
    text = f"{value:.3f}".removeprefix("0")
    if round(value, 3) == round(best, 3):
        text = f"**{text}**"
    if len(runs) > 1 and key in JUDGED:
        spread = (max(run[key] for run in runs) - min(run[key] for run in runs)) / 2
        text += f" ±{spread:.3f}".replace("0.", ".")
    return text
