"""The options of `rmls train`; None means the default of the estimator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

METHOD = "Method"
HELD_OUT = "Held-out rows"
USUAL_METRIC = "example_f1"

Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        metavar="MODEL",
        help="The folder to write.",
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue the interrupted training of MODEL.",
    ),
]
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="Another estimator of rmls, such as COCOA.",
        show_default="RMLS",
        rich_help_panel=METHOD,
    ),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of that estimator; may be repeated.",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
Components = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Length of the vectors.",
        show_default="250",
        rich_help_panel=METHOD,
    ),
]
Passes = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Passes over the rows.",
        show_default="10, more over few rows; paper: 2",
        rich_help_panel=METHOD,
    ),
]
Negatives = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="Irrelevant labels drawn per relevant one, or auto.",
        show_default="auto; paper: 5",
        rich_help_panel=METHOD,
    ),
]
LearningRate = Annotated[
    float | None,
    typer.Option(metavar="RATE", help="Step size.", show_default="0.1", rich_help_panel=METHOD),
]
L2 = Annotated[
    str | None,
    typer.Option(
        "--l2",
        metavar="NUMBER",
        help="Weight of the squared norms, or auto.",
        show_default="auto; paper: 0.001",
        rich_help_panel=METHOD,
    ),
]
Loss = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="logistic, squared or squared_hinge.",
        show_default="logistic",
        rich_help_panel=METHOD,
    ),
]
Activation = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="tanh, linear or relu.",
        show_default="tanh",
        rich_help_panel=METHOD,
    ),
]
Normalize = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="auto, none, l2, log_l2, standardize or rescale.",
        show_default="auto; paper: none",
        rich_help_panel=METHOD,
    ),
]
BatchSize = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Rows per step.", show_default="1", rich_help_panel=METHOD
    ),
]
Decision = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="f1, cardinality, top_3, threshold (tuned) or threshold=SCORE, macro_f1, …",
        show_default="f1",
        rich_help_panel=METHOD,
    ),
]
Calibration = Annotated[
    str | None,
    typer.Option(
        metavar="METHOD",
        help="auto, temperature, platt, isotonic or none: how scores become probabilities.",
        show_default="auto, on the held-out rows",
        rich_help_panel=METHOD,
    ),
]
Paper = Annotated[
    bool,
    typer.Option(
        "--paper",
        help="Settings of the published study; with --no-validation exactly those.",
        rich_help_panel=METHOD,
    ),
]
Metric = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Shown after every pass; the best pass is kept.",
        show_default=USUAL_METRIC,
        rich_help_panel=HELD_OUT,
    ),
]
Validation = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", help="Rows to hold out.", show_default="0.1", rich_help_panel=HELD_OUT
    ),
]
NoValidation = Annotated[
    bool,
    typer.Option("--no-validation", help="Train on every row.", rich_help_panel=HELD_OUT),
]
EarlyStopping = Annotated[
    bool,
    typer.Option(
        "--early-stopping",
        help="Stop when the metric has not risen for 3 passes.",
        rich_help_panel=HELD_OUT,
    ),
]
Seed = Annotated[
    int | None, typer.Option(metavar="N", min=0, help="Of every random choice.", show_default="0")
]
Jobs = Annotated[
    int | None,
    typer.Option(metavar="N", help="Threads; 1 repeats to the last bit.", show_default="all cores"),
]
