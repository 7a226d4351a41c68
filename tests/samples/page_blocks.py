"""Code blocks of Markdown pages: found, run in a folder, and what they say compared."""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cli_samples import Result, invoke

FENCE = re.compile(
    r"^(?P<fence>```+)(?P<kind>[^\n]*)\n(?P<text>.*?)^(?P=fence)[ \t]*$", re.M | re.S
)
NUMBER = re.compile(r"[-+−]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)")
# A block is one of commands where every line begins like one, though no prompt stands before it.
COMMAND = re.compile(r"(rmls|python3?|make|pip|podman|install|systemctl|curl|cat) ")
SHELL = re.compile(r"[|<>&;]|\$\(")
# A page is text: nothing else of it may reach a machine that runs the tests.
PROGRAMS = {"rmls", "python", "python3", "cat", "echo", "head", "mkdir", "printf", "sed", "tail"}
UNITS = ("s", "ms", "MB", "kB", "s,", "s;", "MB)", "kB)")
DOCTEST = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Block(NamedTuple):
    """A block of a page that can be run, and what it is stated to print."""

    kind: str
    text: str
    line: int
    printed: str = ""


class Step(NamedTuple):
    """A command, and what it is stated to say."""

    command: str
    stated: str


def find_blocks(page: str) -> Iterator[Block]:
    """Yield blocks of Python and of commands; a ``text`` block behind Python is its output."""
    found = list(FENCE.finditer(page))
    for match, following in zip(found, [*found[1:], None], strict=False):
        kind, text = match["kind"].strip(), match["text"]
        line = page[: match.start()].count("\n") + 1
        if kind == "python":
            beside = following is not None and not page[match.end() : following.start()].strip()
            states = following is not None and beside and following["kind"].strip() == "text"
            yield Block("python", text, line, following["text"] if states and following else "")
        elif kind in ("", "console", "bash", "sh") and read_steps(text):
            yield Block("console", text, line)


def read_steps(text: str) -> list[Step]:
    """Return the commands of a block, each with the lines that follow it."""
    text = text.replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip()]
    if not any(line.startswith("$ ") for line in lines):
        plain = all(COMMAND.match(line) for line in lines)
        return [Step(_without_comment(line), "") for line in lines] if plain else []
    steps = [part.partition("\n") for part in re.split(r"^\$ ", text, flags=re.M)[1:]]
    return [Step(_without_comment(command), stated) for command, _, stated in steps]


def _without_comment(command: str) -> str:
    return re.sub(r"\s{2,}#.*$|\s\[--.*$", "", command).strip()


def run_python(block: Block, names: dict[str, Any], page: str) -> None:
    """Run a block of Python with the names that others left, and compare what it prints."""
    if block.text.lstrip().startswith(">>>"):
        parser, said = doctest.DocTestParser(), io.StringIO()
        test = parser.get_doctest(block.text, names, page, page, block.line)
        failed, _ = doctest.DocTestRunner(optionflags=DOCTEST).run(
            test, out=said.write, clear_globs=False
        )
        names.update(test.globs)
        assert not failed, f"{page}, line {block.line}: {said.getvalue()}"
        return
    tree = ast.parse(block.text, f"{page}, block at line {block.line}")
    ast.increment_lineno(tree, block.line)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, page, "exec"), names)
    compare(block.printed, printed.getvalue(), where=f"{page}, line {block.line}")


def run_step(step: Step, kept: dict[str, tuple[Path, Result]], where: str) -> None:
    """Run a command in the current folder; ``kept`` has trainings that were run before."""
    if SHELL.search(step.command) or not step.command.startswith("rmls "):
        done = _run_in_shell(step.command)
    else:
        done = _run_here(shlex.split(step.command)[1:], kept)
    refused = "rmls: error:" in step.stated
    assert (done.exit_code != 0) == refused, f"{where}: {done.output} {done.exception!r}"
    compare(step.stated, done.stdout, done.stderr, where=where)


def _run_here(arguments: list[str], kept: dict[str, tuple[Path, Result]]) -> Result:
    if arguments[0] != "train":
        return invoke(*arguments)
    target = Path(arguments[arguments.index("-o") + 1])
    shutil.rmtree(target, ignore_errors=True)
    key = " ".join(arguments)
    if key in kept:
        folder, done = kept[key]
        shutil.copytree(folder, target)
        return done
    done = invoke(*arguments)
    if target.is_dir():
        # A copy: a later command of the page may change the model.
        own = Path(tempfile.mkdtemp()) / target.name
        kept[key] = shutil.copytree(target, own), done
    return done


def _run_in_shell(command: str) -> Result:
    for part in re.split(r"[|;&]+", command):
        program = part.strip(" (").split()[0]
        assert program in PROGRAMS, f"{program} is no program that a page may run: {command}"
    tools = Path("tools").resolve()
    if not tools.is_dir():
        tools.mkdir()
        program = f'#!/bin/sh\nexec "{sys.executable}" -m rmls "$@"\n'
        (tools / "rmls").write_text(program)
        (tools / "rmls").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=environment, check=False
    )
    return Result(done.returncode, done.stdout, done.stderr, None)


def compare(stated: str, *streams: str, where: str) -> None:
    """Assert that every stated line is said, in this order in its stream; … stands for anything."""
    said = [stream.split() for stream in streams]
    places = [0] * len(said)
    for line in stated.splitlines():
        for part in re.split(r"…|\.\.\.", line):
            words = [word for word in part.split() if word.strip("─")]
            if not words:
                continue
            for number, stream in enumerate(said):
                end = _find_run(words, stream, places[number])
                if end:
                    places[number] = end
                    break
            else:
                raise AssertionError(
                    f"{where}: {part!r} is not in what was said:\n" + "\n".join(streams)
                )


def _find_run(words: list[str], stream: list[str], start: int) -> int:
    stream_at = [place for place, word in enumerate(stream) if place >= start and word.strip("─")]
    kept = [stream[place] for place in stream_at]
    for first in range(len(kept) - len(words) + 1):
        if all(
            agree(word, kept[first + n], words[n + 1] if n + 1 < len(words) else "")
            for n, word in enumerate(words)
        ):
            return stream_at[first + len(words) - 1] + 1
    return 0


def agree(stated: str, said: str, unit: str = "") -> bool:
    """Return whether two words are the same, with room for times, sizes and the last digits."""
    if stated == said:
        return True
    if NUMBER.sub("#", stated) != NUMBER.sub("#", said):
        # A part of a word stands beside "…".
        return False
    if unit in UNITS[:2] or unit.rstrip(",;") == "s":
        return True
    pairs = zip(NUMBER.findall(stated), NUMBER.findall(said), strict=True)
    percent = stated.rstrip(",.;:").endswith("%")
    return all(_is_near(a, b, sizes=unit in UNITS, percent=percent) for a, b in pairs)


def _is_near(stated: str, said: str, *, sizes: bool, percent: bool) -> bool:
    a, b = (float(text.replace(",", "").replace("−", "-")) for text in (stated, said))
    if "." not in stated and not sizes:
        # What is counted in a model's answers differs a little between processors.
        return abs(a - b) <= (2 if percent else 0.05 * a if a >= 20 else 0)
    return abs(a - b) <= (0.1 if sizes else 0.05) * max(abs(a), abs(b)) + 0.005
