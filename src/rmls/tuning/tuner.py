"""`tune`: choose on some rows, confirm on others, train on all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sklearn.base import clone

from rmls.core.errors import InputError
from rmls.core.options import read_seed
from rmls.datasets import Dataset
from rmls.datasets.tables import TextTable
from rmls.models.ranker.ranker import RMLSRanker
from rmls.models.shared.progress import say as print_line
from rmls.models.text.text_ranker import TextRanker
from rmls.tuning.choices import in_words, list_arms, list_options, read_figure
from rmls.tuning.division import divide
from rmls.tuning.problem import Problem
from rmls.tuning.search import Candidate, Say, Search
from rmls.tuning.trials import TrialStore
from rmls.tuning.tuned import Tuned

TOLD = ("P@1", "P@5", "PSP@5", "nDCG@5", "example F", "macro F")
LONGEST = 7 * 24 * 60


def tune(
    X: Any,
    Y: Any = None,
    *,
    model: Any = None,
    metric: str = "psp@5",
    minutes: float = 10.0,
    space: Mapping[str, Sequence[Any]] | None = None,
    folder: str | Path | None = None,
    label_names: Sequence[Any] | None = None,
    label_text: Any = None,
    refit: bool = True,
    random_state: Any = 0,
    verbose: int = 0,
    say: Say | None = None,
) -> Tuned:
    """Choose parameters on held-out rows, confirm the choice on others, and train on all.

    Parameters
    ----------
    X : texts, matrix, TextTable or Dataset
    Y : labels, as for the ``fit`` of the model, optional
        Those of a `TextTable` or `Dataset` without it.
    model : estimator, optional
        Its parameters are the defaults that must be beaten: a `TextRanker` for texts and an
        `RMLSRanker` for numbers, without it.
    metric : str, default="psp@5"
        What is to become larger: ``precision@k``, ``psp@k``, ``ndcg@k``, ``f1`` or ``macro_f1``.
    minutes : float, default=10.0
        Time for all trials and the training at the end, those of an interrupted search in
        ``folder`` included. A training that has begun is not cut short.
    space : mapping of parameters to values, optional
        What to try, one parameter at a time and the good ones together; by default few parameters
        that were found to matter.
    folder : path, optional
        Where trials are kept: the same call goes on with them where it was interrupted, or has
        more minutes.
    label_names, label_text : optional
        As for the ``fit`` of the model.
    refit : bool, default=True
        Train the model on all rows.
    random_state : int, RandomState or None, default=0
        Which rows are held out.
    verbose : int, default=0
        1 tells every trial.
    say : callable, optional
        Told the title and the text of everything that happens, instead.

    Returns
    -------
    Tuned

    Notes
    -----
    A fifth of the rows, at most 5,000, is set aside to confirm. Of the others a part is chosen on
    (up to 5,000 rows all of them, by three folds); the rest is learned from, first a ninth of it,
    then a third, then all, each time by the best third of what is left. The defaults are always
    among them. The boost of rare labels and the decision rule need no training of their own and
    are tried with every model. The best model takes the place of the defaults only if the interval
    of 80% of its paired difference is above zero on the rows it was chosen on, and the difference
    is not negative on the rows that confirm.

    Examples
    --------
    >>> from rmls import tune
    >>> texts = ["tax on sugar", "fish in the sea", "tax on salt", "sea fishing"] * 15
    >>> labels = [["tax"], ["sea"], ["tax"], ["sea"]] * 15
    >>> found = tune(texts, labels, metric="p@1", minutes=1, space={"pairs": [True]})
    >>> found.params, found.reason
    ({}, 'Nothing was better than the defaults, so that these stay.')
    >>> found.model.predict(["salt tax"])
    [['tax']]
    """
    figure = read_figure(metric)
    if not 0 < minutes <= LONGEST:
        raise InputError(f"minutes must be above 0 and at most {LONGEST:,}; got {minutes}.")
    X, Y, label_names = _read_rows(X, Y, label_names)
    problem = Problem(_make_model(model, X), X, Y, label_names, label_text)
    seed = read_seed(random_state)
    n_labels = int(problem.Y.shape[1]) - 1
    arms, options = list_arms(problem.model, n_labels, space), list_options(problem.model, figure)
    about = {"rows": problem.fingerprint(), "metric": figure, "seed": seed}
    search = Search(
        problem,
        divide(problem.Y, seed),
        arms,
        options,
        figure,
        60.0 * minutes,
        TrialStore(None if folder is None else Path(folder), about),
        seed,
        say or (_tell if verbose else _keep_quiet),
    )
    found = _decide(search)
    if refit:
        found.model = problem.fit(_model_params(problem.model, found.params))
    return found


def _decide(search: Search) -> Tuned:
    best, estimate = search.run()
    found = Tuned(
        {},
        search.figure,
        "",
        estimate,
        {},
        search.problem.n_rows,
        len(search.division.chosen_on),
        len(search.division.confirm.ask),
        search.lines,
        search.skipped,
    )
    params = {**best.arm.params, **_option_params(search, best)}
    if estimate is None:
        found.reason = "Nothing was better than the defaults, so that these stay."
        if len(search.lines) < 2:
            found.reason = "There was no time to try anything but the defaults; give more minutes."
    elif not search.has_time_to_confirm(best):
        found.reason = (
            f"The best was {in_words(params)}, but there was no time to confirm it: the defaults "
            "stay; give more minutes."
        )
    elif estimate.low <= 0:
        found.reason = (
            f"The best was {in_words(params)} with {estimate.value:+.4f} of {search.figure}, which "
            f"may be chance (80% interval from {estimate.low:+.4f}): the defaults stay."
        )
    else:
        _confirm(search, best, params, found)
    found.seconds = search.used
    search.say("chosen", f"{in_words(found.params)}. {found.reason}")
    return found


def _confirm(search: Search, best: Candidate, params: dict[str, Any], found: Tuned) -> None:
    figures = [*dict.fromkeys([search.figure, *TOLD])]
    confirmed = search.confirm(best, figures)
    worth = confirmed[search.figure]
    words = f"{worth.value:+.4f} of {search.figure} on rows that it was not chosen on"
    if worth.value < 0:
        found.reason = f"{in_words(params)} is worth {words}: the defaults stay."
        return
    found.params, found.confirmed = params, confirmed
    found.reason = (
        f"{in_words(params)} is worth {words}, 95% interval from {worth.low:+.4f} to "
        f"{worth.high:+.4f}."
    )


def _option_params(search: Search, best: Candidate) -> dict[str, Any]:
    prefix = "estimator__" if isinstance(search.problem.model, TextRanker) else ""
    return {f"{prefix}{name}": value for name, value in best.option.params.items()}


def _model_params(model: Any, params: dict[str, Any]) -> dict[str, Any]:
    known = model.get_params()
    return {name: value for name, value in params.items() if name in known}


def _read_rows(X: Any, Y: Any, label_names: Any) -> tuple[Any, Any, Any]:
    if isinstance(X, TextTable):
        return X.columns, X.labels if Y is None else Y, label_names
    if isinstance(X, Dataset):
        if Y is None:
            Y, label_names = X.Y, X.label_names
        return X.X, Y, label_names
    return (list(X) if hasattr(X, "__next__") else X), Y, label_names


def _make_model(model: Any, X: Any) -> Any:
    if model is None:
        model = TextRanker() if _are_texts(X) else RMLSRanker()
    made = clone(model)
    if isinstance(made, TextRanker) and made.estimator is None:
        # So that its parameters have names of their own.
        made.set_params(estimator=RMLSRanker())
    return made


def _are_texts(X: Any) -> bool:
    if isinstance(X, Mapping):
        return True
    if hasattr(X, "shape") or not len(X):
        return False
    first = X[0]
    return isinstance(first, str) or (len(first) > 0 and isinstance(first[0], str))


def _tell(title: str, text: str) -> None:
    print_line(f"{title:<10}{text}")


def _keep_quiet(title: str, text: str) -> None:
    """Tell nobody."""
