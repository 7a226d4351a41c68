"""The options of `rmls train` that are no parameters of an estimator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

METHOD = "Method (the defaults are those of RMLSRanker in Python)"
HELD_OUT = "Held-out rows"
ONLY_RMLS = "Only with --method RMLS (the defaults are its own)"
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="MODEL", help="The folder to write.")
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue the interrupted training of MODEL: with --method RMLS, or with --cluster.",
    ),
]
Method = Annotated[
    str,
    typer.Option(metavar="NAME", help="One that `rmls methods` lists.", rich_help_panel=METHOD),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any parameter that `rmls methods NAME` shows; may be repeated.",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
Paper = Annotated[
    bool,
    typer.Option(
        "--paper",
        help="Settings of the published study.",
        rich_help_panel=ONLY_RMLS,
    ),
]
NoValidation = Annotated[
    bool,
    typer.Option("--no-validation", help="No early stopping, the default.", hidden=True),
]
EarlyStopping = Annotated[
    bool,
    typer.Option(
        "--early-stopping",
        help="Hold rows out, measure them after every pass, keep the best; stop when "
        "n_iter_no_change passes brought no rise.",
        rich_help_panel=ONLY_RMLS,
    ),
]


TestShare = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Keep this share of the rows, stratified, out of the training and measure them.",
        rich_help_panel=HELD_OUT,
    ),
]


NoReport = Annotated[
    bool,
    typer.Option(
        "--no-report",
        help="Write no MODEL.html at the end of a training on texts.",
        rich_help_panel=HELD_OUT,
    ),
]


KeepRows = Annotated[
    bool,
    typer.Option(
        "--keep-rows",
        help="Keep the training rows in MODEL, of texts the beginnings, for rmls explain.",
        rich_help_panel=METHOD,
    ),
]
