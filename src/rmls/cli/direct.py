"""`rmls suggest MODEL TEXT...` without options, past the parser, which takes longer than labels."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rmls.cli.shared.console import let_letters_pass, open_output, plain_failures, plain_warnings
from rmls.core.lean import start_lean


def is_direct(arguments: Sequence[str]) -> bool:
    """Tell whether a command line is a model and texts, and nothing that has to be parsed."""
    command, *rest = [*arguments, ""]
    # At the end stands the empty text from above.
    return command == "suggest" and len(rest) > 2 and not any(one[:1] == "-" for one in rest)


def suggest_directly() -> None:
    """Suggest labels for texts as `rmls suggest` does without options; ends the process."""
    _, model, *texts = sys.argv[1:]
    let_letters_pass()
    start_lean()
    with plain_failures(), plain_warnings():
        from rmls.cli.shared.suggestions import DEFAULT_CHOICE, Format, make_writer, suggestions
        from rmls.cli.shared.text_models import GivenTexts, compiled_in_time, load_text_model
        from rmls.cli.shared.vectors import open_for_model

        fitted = load_text_model(Path(model))
        vectors = open_for_model(fitted, None)
        with open_output(Path("-")) as stream:
            writer = make_writer(stream, Format.TABLE)
            for table in compiled_in_time(fitted, [GivenTexts(texts)]):
                writer.write_table(table, 0, suggestions(fitted, table, DEFAULT_CHOICE, vectors))
        sys.stdout.flush()
    sys.exit(0)
