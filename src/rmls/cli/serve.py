"""`rmls serve`: models over HTTP, with a page."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rmls.cli.shared.console import note, notes
from rmls.cli.shared.options import Quiet, whole
from rmls.core.errors import InputError, RmlsError

if TYPE_CHECKING:
    from rmls.serve.settings import Settings

TOKEN = "RMLS_TOKEN"
MIN_TOKEN = 16
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
DEMO = "demo"
FEEDBACK = "feedback.jsonl"
MODULES = ("fastapi", "uvicorn", "prometheus_client")

Models = Annotated[
    list[str] | None,
    typer.Argument(metavar="[MODEL]...", help="Folders of models, or NAME=FOLDER."),
]
Host = Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")]
Port = Annotated[int, typer.Option(metavar="N", parser=whole(0, 65535), help="The port.")]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help=f"What requests must carry; else the variable {TOKEN}, if it is set."
    ),
]
FeedbackTo = Annotated[
    Path | None, typer.Option("--feedback", metavar="FILE", help="Append feedback to this file.")
]
Workers = Annotated[
    int, typer.Option(metavar="N", parser=whole(1, 256), help="Processes that answer.")
]
Demo = Annotated[bool, typer.Option("--demo", help="Serve a model of the works of art inside.")]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A name that the service is asked by, without a token."),
]
LogTexts = Annotated[bool, typer.Option("--log-texts", help="Let the log hold texts.")]


def serve(
    models: Models = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token_file: TokenFile = None,
    feedback: FeedbackTo = None,
    workers: Workers = 1,
    demo: Demo = False,
    allow_host: AllowHost = None,
    log_texts: LogTexts = False,
    quiet: Quiet = False,
) -> None:
    """Answer requests over HTTP with models of texts, and show them on a page.

    Suggestions, explanations, search over labels and feedback, as JSON and on
    the page at /. Listens on this machine alone; on any other address a token
    is required. Models that are written anew are taken up by themselves.
    """
    from rmls.core.optional import import_extra

    for module in MODULES:
        import_extra(module, "serve", "rmls serve")
    paths = read_models(models or [])
    token = read_token(token_file)
    if token is None and not is_loopback(host):
        raise InputError(
            f"{host} can be reached by others: give a token by --token-file or {TOKEN}."
        )
    if demo:
        from rmls.cli.demo.served import demo_folder, make_demo_model

        folder = demo_folder()
        paths = {DEMO: make_demo_model(folder, quiet), **paths}
        feedback = feedback or folder / FEEDBACK
    if not paths:
        raise InputError("give the folder of a model, or --demo.")
    _start(
        paths, _settings(token, host, feedback, allow_host, log_texts), host, port, workers, quiet
    )


def _settings(
    token: str | None, host: str, feedback: Path | None, names: list[str] | None, log_texts: bool
) -> Settings:
    from rmls.serve.settings import Settings

    # A page of another site may let its own name point to this machine: names are looked at.
    hosts = () if token is not None else (*LOOPBACK, host.lower(), *map(str.lower, names or ()))
    return Settings(token=token, hosts=hosts, feedback=feedback, log_texts=log_texts)


def _start(
    paths: dict[str, Path], settings: Settings, host: str, port: int, workers: int, quiet: bool
) -> None:
    from rmls.serve.feedback import FeedbackFile
    from rmls.serve.run import Address, serve
    from rmls.serve.store import open_model

    # What is wrong is told once and at once, not by every worker.
    for name, path in paths.items():
        open_model(name, path)
    if settings.feedback is not None:
        FeedbackFile(settings.feedback).close()
    shown = f"[{host}]" if ":" in host else host
    console = notes(quiet)
    note(console, "serving", ", ".join(f"{name} ({path})" for name, path in paths.items()))
    if settings.feedback is not None:
        note(console, "feedback", str(settings.feedback))
    note(console, "address", f"http://{shown}:{port}/ (end with Ctrl-C)")
    serve(paths, settings, Address(host, port, workers), "warning" if quiet else "info")


def read_models(given: list[str]) -> dict[str, Path]:
    """Return folders by name.

    Examples
    --------
    >>> sorted(read_models(["art=models/tate", "models/law"]))
    ['art', 'law']
    """
    found: dict[str, Path] = {}
    for text in given:
        name, equals, place = text.partition("=")
        # A folder may have an equals sign in its name.
        path = Path(text) if not equals or Path(text).exists() else Path(place)
        name = path.resolve().name if path == Path(text) else name
        if not name or "/" in name:
            raise InputError(f"{text}: give a model as FOLDER or NAME=FOLDER.")
        if name in found:
            raise InputError(f"two models are called {name!r}; name them: NAME=FOLDER.")
        found[name] = path
    return found


def read_token(file: Path | None) -> str | None:
    """Return the token of a file or of the environment; None where there is none."""
    if file is None:
        token = os.environ.get(TOKEN, "").strip()
        where = TOKEN
    else:
        where = str(file)
        try:
            token = file.read_text("ascii").strip()
        except (OSError, ValueError) as error:
            raise RmlsError(f"{file}: the token cannot be read ({error}).") from None
    if not token and file is None:
        return None
    if len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"{where}: a token has {MIN_TOKEN} or more letters and digits, without spaces."
        )
    return token


def is_loopback(host: str) -> bool:
    """Tell whether an address is that of this machine alone.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
