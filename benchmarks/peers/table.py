"""Result rows as Markdown tables, one per data set, with the failures beneath."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Row = dict[str, Any]
SET_RULE = "top_k"


class Column(NamedTuple):
    """A column: where its number stands in a result row, and how it is written."""

    title: str
    path: tuple[str, ...]
    form: str = "{:.3f}"
    scale: float = 1.0


COLUMNS = (
    *(Column(f"P@{k}", ("metrics", "ranking", f"precision@{k}")) for k in (1, 3, 5)),
    *(Column(f"PSP@{k}", ("metrics", "ranking", f"psp@{k}")) for k in (1, 3, 5)),
    Column("macro-F1", ("metrics", SET_RULE, "macro_f1")),
    Column("example-F1", ("metrics", SET_RULE, "example_f1")),
    Column("train s", ("train_seconds",), "{:.2f}"),
    Column("train CPU s", ("train_cpu_seconds",), "{:.2f}"),
    Column("predict ms/row", ("predict_ms_per_row",), "{:.3f}"),
    Column("model MB", ("model_bytes",), "{:.1f}", 1e-6),
    Column("peak MB", ("peak_bytes",), "{:.0f}", 1e-6),
)

# Beside one another: the ranking as it comes, and boosted towards rare labels.
BOOSTED = tuple(
    Column(f"{title}@{k}{after}", ("metrics", kind, f"{name}@{k}"))
    for kind, after in (("ranking", ""), ("boosted", ", boosted"))
    for title, name, depths in (("P", "precision", (1, 5)), ("PSP", "psp", (1, 3, 5)))
    for k in depths
)


def format_tables(rows: list[Row]) -> str:
    """Return all tables: data sets in alphabetical order, methods in the order of the rows.

    Several folds of a method become one line with their means.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["dataset"], row["features"]), []).append(row)
    return "\n".join(_format_group(groups[key]) for key in sorted(groups))


def _format_group(rows: list[Row]) -> str:
    """Return the table of one data set with one kind of features."""
    first, folds = rows[0], sorted({row["fold"] for row in rows})
    what = "its own split" if folds == ["given"] else f"folds {', '.join(folds)}"
    lines = [f"### {first['dataset']}: {first['data']}", ""]
    lines += [f"{what}, {first['features']} features, {first['threads']} threads", ""]
    lines.append(f"| method | {' | '.join(column.title for column in COLUMNS)} |")
    lines.append("|---" * (len(COLUMNS) + 1) + "|")
    good: dict[str, list[Row]] = {}
    for row in rows:
        if row["status"] == "ok":
            good.setdefault(row["peer"], []).append(row)
    lines += [_format_line(mine, len(folds)) for mine in good.values()]
    if boosted := [mine for mine in good.values() if "boosted" in mine[0]["metrics"]]:
        lines += ["", "Scores between 0 and 1 times the root of the inverse propensity:", ""]
        lines.append(f"| method | {' | '.join(column.title for column in BOOSTED)} |")
        lines.append("|---" * (len(BOOSTED) + 1) + "|")
        lines += [_format_line(mine, len(folds), BOOSTED) for mine in boosted]
    failures = [row for row in rows if row["status"] != "ok"]
    if failures:
        lines += ["", "Without a result:", "", *map(_format_failure, failures)]
    return "\n".join(lines) + "\n"


def _format_line(rows: list[Row], n_folds: int, columns: tuple[Column, ...] = COLUMNS) -> str:
    name = rows[0]["peer"]
    if rows[0]["given_features"] != rows[0]["features"]:
        name += f", {rows[0]['given_features']} features"
    if len(rows) < n_folds:
        name += f" ({len(rows)} of {n_folds} folds)"
    cells = [_format_cell(column, rows) for column in columns]
    return f"| {name} | {' | '.join(cells)} |"


def _format_cell(column: Column, rows: list[Row]) -> str:
    values = [_value(row, column.path) for row in rows]
    if any(value is None for value in values):
        return "–"
    text = column.form.format(float(np.mean(values)) * column.scale)
    return (
        text[1:]
        if text.startswith("0.") and not column.title.startswith(("train", "model"))
        else text
    )


def _value(row: Row, path: tuple[str, ...]) -> float | None:
    value: Any = row
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _format_failure(row: Row) -> str:
    fold = "" if row["fold"] == "given" else f", fold {row['fold']}"
    return f"* {row['peer']}{fold}: {row['status']}: {row['failure']}"
