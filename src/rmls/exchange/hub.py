"""Models on the Hugging Face Hub: pushed with a card, pulled as an archive and nothing else."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from rmls.archive import check_target, copy_archive
from rmls.archive.layout import FILE_NAMES, MANIFEST_NAME
from rmls.core.errors import InputError, RmlsError
from rmls.core.optional import import_extra
from rmls.core.words import shorten
from rmls.datasets.registry import cache_dir
from rmls.exchange.card import make_card
from rmls.models.shared.model_archive import load_model

PREFIX = "hf://"
CARD_NAME = "README.md"
MAX_REASON = 300


def push(
    model: Any,
    repo: str,
    *,
    private: bool = True,
    license: str | None = None,
    data: str | None = None,
    card: str | bool = True,
    token: str | None = None,
) -> str:
    """Send a fitted model, with a card that describes it, to a repository of the Hub.

    Parameters
    ----------
    model : estimator
    repo : str
        ``"user/name"``; made where it does not exist.
    private : bool, default=True
        Whether a new repository is seen by its owner alone.
    license, data : str, optional
        For the card, see `make_card`.
    card : str or bool, default=True
        Text of the card; True makes one, False leaves the one that is there.
    token : str, optional
        Without one the token of ``hf auth login`` or of ``HF_TOKEN`` is used.

    Returns
    -------
    str
        The address of the commit.

    Notes
    -----
    Files that others have put there stay. All files go up in one commit, so that nobody gets the
    half of a model.
    """
    hub, api = _connect(token)
    text = make_card(model, repo=repo, license=license, data=data) if card is True else card
    with tempfile.TemporaryDirectory(prefix="rmls-push-") as folder, _told(hub, repo):
        model.save(Path(folder) / "model")
        files = {name: Path(folder) / "model" / name for name in FILE_NAMES}
        operations = [hub.CommitOperationAdd(name, str(path)) for name, path in files.items()]
        if text is not False:
            operations += [hub.CommitOperationAdd(CARD_NAME, text.encode("utf-8"))]
        api.create_repo(repo, repo_type="model", private=private, exist_ok=True)
        message = f"{type(model).__name__}, {len(model.classes_):,} labels"
        return str(api.create_commit(repo, operations, commit_message=message).commit_url)


def pull(
    repo: str,
    path: str | Path,
    *,
    revision: str | None = None,
    overwrite: bool = False,
    token: str | None = None,
) -> str:
    """Fetch a model from the Hub to the folder ``path``.

    Only the two files of an archive are fetched, of one commit; they are loaded, with all checks of
    `rmls.load`, before they get their place. Nothing in them is executed.

    Returns
    -------
    str
        The commit they are of.
    """
    check_target(path, overwrite=overwrite)
    hub, api = _connect(token)
    commit = _find_commit(hub, api, repo, revision)
    _fetch(hub, repo, commit, Path(path), overwrite, token)
    return commit


def from_hub(
    repo: str, *, revision: str | None = None, mmap: bool = True, token: str | None = None
) -> Any:
    """Load a model of the Hub; its files are kept in the cache of the user.

    Parameters
    ----------
    repo : str
        ``"user/name"``, ``"user/name@revision"``, both also with ``hf://`` in front.
    revision : str, optional
        Branch, tag or commit; the main branch without one.
    mmap : bool, default=True
        As for `rmls.load`.
    token : str, optional
        As for `push`.
    """
    name, _, given = repo.removeprefix(PREFIX).partition("@")
    hub, api = _connect(token)
    commit = _find_commit(hub, api, name, revision or given or None)
    folder = cache_dir() / "hub" / name.replace("/", "--") / commit
    if not (folder / MANIFEST_NAME).is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        _fetch(hub, name, commit, folder, True, token)
    return load_model(folder, mmap=mmap)


def _connect(token: str | None) -> tuple[Any, Any]:
    hub = import_extra("huggingface_hub", "hub", "the Hugging Face Hub")
    # Asked at every call: the library looks at the variable only once.
    return hub, hub.HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, token=token)


def _find_commit(hub: Any, api: Any, repo: str, revision: str | None) -> str:
    """Return the commit that a revision stands for, if it holds a model."""
    with _told(hub, repo):
        found = api.model_info(repo, revision=revision)
        files = {each.rfilename for each in found.siblings or []}
        missing = [name for name in FILE_NAMES if name not in files]
        commit = str(found.sha)
        # It becomes the name of a folder, and the server is not ours.
        if not commit.isalnum():
            raise InputError(f"{repo}: the server names no commit.")
    if missing:
        raise InputError(f"{repo} holds no rmls model: it has no {missing[0]}.")
    return commit


def _fetch(
    hub: Any, repo: str, commit: str, target: Path, overwrite: bool, token: str | None
) -> None:
    # Beside the target, where there is room for a model; the library leaves notes of its own there.
    with tempfile.TemporaryDirectory(prefix=".rmls-pull-", dir=_parent(target)) as folder:
        with _told(hub, repo):
            for name in FILE_NAMES:
                hub.hf_hub_download(
                    repo,
                    name,
                    revision=commit,
                    local_dir=folder,
                    token=token,
                    endpoint=os.environ.get("HF_ENDPOINT") or None,
                )
        load_model(folder)
        copy_archive(folder, target, overwrite=overwrite)


def _parent(target: Path) -> Path:
    return Path(os.path.realpath(target)).parent


@contextmanager
def _told(hub: Any, repo: str) -> Iterator[None]:
    """Turn what the library raises into one sentence."""
    errors = import_module(f"{hub.__name__}.errors")
    try:
        yield
    except RmlsError:
        raise
    except (errors.RepositoryNotFoundError, errors.GatedRepoError) as error:
        raise InputError(
            f"{repo} is not on the Hub, or is not yours to see; check the name, and log in with: "
            "hf auth login."
        ) from error
    except errors.RevisionNotFoundError as error:
        raise InputError(f"{repo} has no such revision; leave it out for the newest.") from error
    except errors.HFValidationError as error:
        raise InputError(f"{repo!r} is no name of the form user/name.") from error
    # Whatever network, proxy and server can do ends here; the reason is theirs.
    except Exception as error:
        reason = shorten(" ".join(str(error).split()) or type(error).__name__, MAX_REASON)
        raise InputError(f"{repo}: the Hub cannot be used ({reason.rstrip('.')}).") from error
