"""What is shown while a model trains: every stage, as bars in a terminal, as lines in a log."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading

import pytest
from patience import patience
from rich.console import Console

from rmls import COCOA, RMLS, RMLSRanker
from rmls.datasets import make_longtail
from rmls.models.shared import progress
from rmls.models.shared.progress import hearing_ctrl_c, show_part, showing, stage

DATA = make_longtail(90, 30, 6, random_state=8).train


def stages_of(stderr: str) -> list[str]:
    """Return the names of the lines that a log has for stages."""
    return re.findall(r"^(\S.*?)  .*\d s$", stderr, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (RMLS(4, max_iter=2, verbose=1), ["training", "calibration"]),
        (
            RMLSRanker(4, max_iter=2, verbose=1),
            ["vectors", "shortlists", "classifiers", "cross-fit", "combination", "calibration"],
        ),
        (
            RMLSRanker(4, max_iter=2, calibration_folds=0, verbose=1),
            ["vectors", "shortlists", "classifiers", "held-out rows", "combination", "calibration"],
        ),
        (COCOA(verbose=1), ["machines"]),
    ],
    ids=["RMLS", "folds", "held out", "COCOA"],
)
def test_a_log_gets_a_line_for_every_stage(model, names, capsys):
    model.fit(DATA.X, DATA.Y)
    shown = capsys.readouterr().err
    assert stages_of(shown) == names
    # Passes of the model that is kept, not of those that are a means.
    passes = [line for line in shown.splitlines() if line.startswith("pass ")]
    assert len(passes) == (2 if hasattr(model, "max_epochs") or isinstance(model, RMLS) else 0)


@pytest.mark.parametrize("model", [RMLS(4, max_iter=2), RMLSRanker(4, max_iter=2), COCOA()])
def test_nothing_is_shown_unless_asked_for(model, capsys):
    model.fit(DATA.X, DATA.Y)
    assert capsys.readouterr().err == ""


class Recorder:
    """Stands in for the live bars of a terminal."""

    def __init__(self):
        self.shares = {}

    def add_task(self, name, **_):
        self.shares[name] = [0.0]
        return name

    def update(self, task, completed=None, **_):
        if completed is not None:
            self.shares[task].append(completed)

    def start(self): ...

    def stop(self): ...

    def stop_task(self, task):
        self.shares[task].append("stopped")


@pytest.fixture
def bars(monkeypatch):
    recorder = Recorder()
    monkeypatch.setattr(progress, "_make_live", lambda _: recorder)
    monkeypatch.setattr(Console, "is_terminal", True)
    return recorder.shares


@pytest.mark.parametrize("folds", [3, 0])
def test_every_bar_goes_from_nothing_to_the_end(folds, bars):
    RMLSRanker(4, max_iter=2, calibration_folds=folds, verbose=1).fit(DATA.X, DATA.Y)
    assert len(bars) == 6
    for name, shares in bars.items():
        assert shares == sorted(shares), name
        assert (shares[0], shares[-1]) == (0.0, 1.0), name
    assert len(set(bars["vectors"])) > 2


def test_stages_inside_move_the_one_around(bars):
    with showing(1), stage("outer"):
        for number in range(2):
            show_part(number, 2, n_stages=2)
            for name in ("first", "second"):
                with stage(name) as inner:
                    inner.tick(0.5)
    assert list(bars) == ["outer"]
    steps = [0, 0.125, 0.25, 0.375, 0.5, 0.5, 0.625, 0.75, 0.875, 1, 1]
    assert bars["outer"] == [0.0, *steps]


def test_an_interrupted_stage_stands_still(bars):
    with pytest.raises(KeyboardInterrupt), showing(1), stage("one"):
        raise KeyboardInterrupt
    assert bars["one"][-1] == "stopped"
    with stage("two"):
        pass
    assert list(bars) == ["one"]


CRASH = """
import os, signal, threading
import numpy as np
from numba import njit
from rmls.models.shared.progress import hearing_ctrl_c

# What a shell starts in the background begins with Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

@njit(nogil=True)
def work(n):
    out = np.zeros(3)
    for i in range(n):
        out[i % 3] += np.sin(i)
    return out, out.copy(), out.copy()

work(1)
heard = 0
for _ in range(10):
    # While the loop runs: Python hears of it when the arrays are handed over.
    timer = threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT))
    with hearing_ctrl_c():
        try:
            timer.start()
            work(2_000_000)
            timer.join()
            threading.Event().wait(10)
        except KeyboardInterrupt:
            heard += 1
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
print(heard)
"""


@pytest.mark.slow
def test_ctrl_c_when_a_compiled_function_returns_is_heard_and_ends_no_process():
    command = [sys.executable, "-c", CRASH]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience(30))
    assert (done.returncode, done.stdout) == (0, "10\n"), done.stderr


def test_the_handler_of_the_user_is_left_alone():
    def own(*_):
        raise AssertionError

    before = signal.signal(signal.SIGINT, own)
    try:
        with hearing_ctrl_c():
            assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


def test_threads_do_without_a_handler():
    seen = []

    def look():
        with hearing_ctrl_c():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
