"""Successive halving: many changes on few rows, the best of them on more."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy import sparse

from rmls.core.ranking import Ranking
from rmls.review.quality import LEVEL, Estimate, Prediction, measure_quality
from rmls.tuning.choices import AS_IT_IS, DEFAULTS, Arm, Option, combined
from rmls.tuning.division import STEP, Division, Ints, Pair
from rmls.tuning.problem import Problem
from rmls.tuning.trials import Trial, TrialStore

Say = Callable[[str, str], None]
# Of the interval that must be above zero where a choice is made: rows that nothing was chosen on
# have the last word.
CHOICE_LEVEL = 80


class Candidate(NamedTuple):
    """A change of the defaults with an option, and its figure on the rows that are chosen on."""

    arm: Arm
    option: Option
    value: float


@dataclass(frozen=True)
class Line:
    """What is told about one trial.

    Attributes
    ----------
    name : str
        What was changed.
    n_rows : int
        Rows it was fitted to.
    value : float
        The best figure of its options.
    option : str
        The name of that option.
    seconds : float
    """

    name: str
    n_rows: int
    value: float
    option: str
    seconds: float


@dataclass
class Search:
    """A search for a better model than that of the defaults.

    Parameters
    ----------
    problem : Problem
    division : Division
    arms : list of Arm
        Without the defaults, which are always tried.
    options : list of Option
        The first one is "as it is".
    figure : str
        What is to become larger, by the names of `measure_quality`.
    seconds : float
        For all trials together, those of an earlier run that was interrupted included, and the
        final training.
    store : TrialStore
    seed : int
    say : callable
        Told the title and the text of what happens.
    """

    problem: Problem
    division: Division
    arms: list[Arm]
    options: list[Option]
    figure: str
    seconds: float
    store: TrialStore
    seed: int = 0
    say: Say = lambda title, text: None
    clock: Callable[[], float] = time.monotonic
    lines: list[Line] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    used: float = 0.0
    _pace: dict[str, float] = field(default_factory=dict)
    _counted: set[str] = field(default_factory=set)

    # -- the ladder ------------------------------------------------------------------------------

    def run(self) -> tuple[Candidate, Estimate | None]:
        """Return the best candidate, and what it is worth on the rows that it was chosen on.

        The estimate is the paired difference to the defaults with its interval of 80%; None where
        these are the best.
        """
        alive = [DEFAULTS, *self.arms]
        best = [Candidate(DEFAULTS, AS_IT_IS, math.nan)]
        reached = -1
        for rung in range(len(self.division.sizes)):
            found = self._climb(alive, rung)
            if rung and len(found) < 2:
                break
            best, reached = found, rung
            alive = self._survivors(found, rung)
        if reached < 0:
            return best[0], None
        return self._best(best, reached)

    def _climb(self, arms: Sequence[Arm], rung: int) -> list[Candidate]:
        """Try changes on the rows of a rung, as long as there is time; the defaults come first."""
        found = []
        for arm in arms:
            # The very first trial tells what time there is.
            first = not self._pace
            if not first and not self._has_time(arm, rung):
                self.skipped.append(f"{arm.name} on {self.division.sizes[rung]:,} rows")
                if arm is DEFAULTS:
                    return []
                continue
            found.append(self._try(arm, rung))
        if rung == len(self.division.sizes) - 1:
            # Changes that are good for themselves may be better together.
            together = combined(self._better(found))
            is_new = together is not None and all(together.key != each.arm.key for each in found)
            if together is not None and is_new and self._has_time(together, rung):
                found.append(self._try(together, rung))
        return found

    def _survivors(self, found: list[Candidate], rung: int) -> list[Arm]:
        kept = math.ceil(len(found) / STEP)
        others = [each.arm for each in self._by_value(found) if each.arm is not DEFAULTS][:kept]
        together = combined(self._better(found)[:3])
        if together is not None and all(together.key != arm.key for arm in others):
            others.append(together)
        return [DEFAULTS, *others]

    def _better(self, found: list[Candidate]) -> list[Arm]:
        """Return the changes that are better than the defaults, the best first."""
        return [each.arm for each in self._by_value(found[1:]) if each.value > found[0].value]

    def _by_value(self, found: Sequence[Candidate]) -> list[Candidate]:
        # Of equal ones the first, which is the cheaper one.
        return sorted(found, key=lambda each: -each.value)

    def _best(self, found: list[Candidate], rung: int) -> tuple[Candidate, Estimate | None]:
        """Return the candidate with the largest figure, if its interval says that it is better."""
        best = self._by_value(found)[0]
        default = Candidate(DEFAULTS, AS_IT_IS, math.nan)
        if best.arm is DEFAULTS and best.option == AS_IT_IS:
            return default, None
        estimate = self._difference(self._trial(best.arm, rung), best.option, rung)
        return best, estimate

    # -- trials ----------------------------------------------------------------------------------

    def _try(self, arm: Arm, rung: int) -> Candidate:
        trial = self._trial(arm, rung)
        Y, counts, n_fitted = self._truth(rung)
        values = []
        for option in self.options:
            figures = measure_quality(
                Y, [trial.predictions[option.name]], counts, n_fitted, self.seed, (self.figure,)
            )
            values.append(figures.values[option.name, self.figure, "all"].value)
        at = int(np.argmax(values))
        n_rows = self.division.sizes[rung]
        self.lines.append(Line(arm.name, n_rows, values[at], self.options[at].name, trial.seconds))
        told = f" with {self.options[at].name}" if self.options[at].name else ""
        self.say("trial", f"{arm.name}{told}: {self.figure} {values[at]:.4f} on {n_rows:,} rows")
        return Candidate(arm, self.options[at], values[at])

    def _trial(self, arm: Arm, rung: int) -> Trial:
        size = self.division.sizes[rung]
        pairs = [Pair(pair.fit[:size], pair.ask) for pair in self.division.choose]
        ranked = self.figure.rpartition("@")[2]
        depth = int(ranked) if ranked.isdigit() else 0
        return self._fitted(f"{arm.key} {size}", arm, pairs, self.options, depth, sets=not depth)

    def _fitted(
        self,
        name: str,
        arm: Arm,
        pairs: list[Pair],
        options: Sequence[Option],
        depth: int,
        *,
        sets: bool,
    ) -> Trial:
        kept = self.store.get(name)
        if kept is None:
            started = self.clock()
            parts = []
            for pair in pairs:
                model = self.problem.fit(arm.params, pair.fit)
                parts.append(self.problem.predict(model, pair.ask, options, depth=depth, sets=sets))
            seconds = self.clock() - started
            n_fitted = sum(len(pair.fit) for pair in pairs)
            kept = Trial(seconds, n_fitted, _stacked(parts))
            self.store.put(name, kept)
        if name not in self._counted:
            self._counted.add(name)
            self.used += kept.seconds
            self._pace[arm.key] = kept.seconds / max(kept.n_fitted, 1)
        return kept

    def has_time_to_confirm(self, best: Candidate) -> bool:
        """Tell whether the confirmation and the final training fit in the time."""
        return self.used + self._ahead_of_the_end(best.arm) <= self.seconds

    def confirm(self, best: Candidate, figures: Sequence[str]) -> dict[str, Estimate]:
        """Return paired differences to the defaults on rows that nothing was chosen on."""
        pair = self.division.confirm
        lengths = [int(k) for _, _, k in (f.rpartition("@") for f in figures) if k.isdigit()]
        depth = max(lengths, default=1)
        # One training serves both where only an option is changed.
        asked: dict[str, tuple[Arm, list[Option]]] = {DEFAULTS.key: (DEFAULTS, [AS_IT_IS])}
        asked.setdefault(best.arm.key, (best.arm, []))[1].append(best.option)
        trials = {
            key: self._fitted(
                f"confirm {key} {[option.name for option in options]}",
                arm,
                [pair],
                options,
                depth,
                sets=True,
            )
            for key, (arm, options) in asked.items()
        }
        predictions = [
            trials[best.arm.key].predictions[best.option.name],
            trials[DEFAULTS.key].predictions[AS_IT_IS.name],
        ]
        Y, counts = self.problem.Y[pair.ask], self.problem.counts(pair.fit)
        return _paired(Y, predictions, counts, len(pair.fit), self.seed, figures)

    def _difference(self, trial: Trial, option: Option, rung: int) -> Estimate:
        default = self._trial(DEFAULTS, rung).predictions[AS_IT_IS.name]
        pair = [trial.predictions[option.name], default]
        Y, counts, n_fitted = self._truth(rung)
        found = _paired(Y, pair, counts, n_fitted, self.seed, (self.figure,), CHOICE_LEVEL)
        return found[self.figure]

    def _truth(self, rung: int) -> tuple[sparse.csr_matrix, Ints, int]:
        size = self.division.sizes[rung]
        fitted = self.division.choose[0].fit[:size]
        return self.problem.Y[self.division.chosen_on], self.problem.counts(fitted), len(fitted)

    # -- time ------------------------------------------------------------------------------------

    def _has_time(self, arm: Arm, rung: int) -> bool:
        """Tell whether a trial, the confirmation and the final training still fit in the time."""
        size = self.division.sizes[rung]
        if self.store.get(f"{arm.key} {size}") is not None:
            return True
        ahead = self._expected(arm, len(self.division.choose) * size)
        return self.used + ahead + self._ahead_of_the_end(arm) <= self.seconds

    def _ahead_of_the_end(self, arm: Arm) -> float:
        """Return the seconds of the confirming trainings and of the final one."""
        n_confirm, n_rows = len(self.division.confirm.fit), self.problem.n_rows
        both = self._expected(DEFAULTS, n_confirm)
        if arm is not DEFAULTS:
            both += self._expected(arm, n_confirm)
        return both + max(self._expected(arm, n_rows), self._expected(DEFAULTS, n_rows))

    def _expected(self, arm: Arm, n_rows: int) -> float:
        """Return the seconds of a training; it grows with the rows, at most in proportion."""
        default = self._pace.get(DEFAULTS.key, 0.0)
        return self._pace.get(arm.key, arm.cost * default) * n_rows


def _stacked(parts: list[dict[str, Prediction]]) -> dict[str, Prediction]:
    if len(parts) == 1:
        return parts[0]
    return {
        name: Prediction(
            name,
            Ranking.stack([part[name].ranking for part in parts]),
            sparse.vstack([part[name].sets for part in parts], format="csr"),
        )
        for name in parts[0]
    }


def _paired(
    Y: sparse.csr_matrix,
    pair: Sequence[Prediction],
    counts: Ints,
    n_fitted: int,
    seed: int,
    figures: Sequence[str],
    level: int = LEVEL,
) -> dict[str, Estimate]:
    named = [Prediction(f"{at}", each.ranking, each.sets) for at, each in enumerate(pair)]
    found = measure_quality(Y, named, counts, n_fitted, seed, figures, level)
    return {metric: each for (metric, group), each in found.differences.items() if group == "all"}
