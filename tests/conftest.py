"""The real data sets, how long examples may take, and kernels compiled once for all workers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings
from places import real_data_folder
from warm_kernels import kernels_key, warm_kernels

# Several files named conftest cannot all be imported to look for doctests.
collect_ignore_glob = ["*conftest.py"]
# Written for schemathesis, which is not there for every Python.
collect_ignore = ["tools/schema_hooks.py"]

# A busy machine is no reason to fail.
settings.register_profile("rmls", deadline=None)
settings.load_profile("rmls")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile kernels before several workers would each do so; only where all tests are run."""
    config = session.config
    workers = getattr(config.option, "numprocesses", None) or 0
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if hasattr(config, "workerinput") or workers < 2 or not everything:
        return
    key, cache = kernels_key(), getattr(config, "cache", None)
    if cache is None or cache.get("rmls/kernels", "") != key:
        warm_kernels(workers)
        if cache is not None:
            cache.set("rmls/kernels", key)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    folder = real_data_folder()
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is not there; set RMLS_DATA")
    return folder


@pytest.fixture(autouse=True)
def real_data(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `rmls.datasets.load` find the folder in tests marked `data`; skip them without it."""
    if request.node.get_closest_marker("data"):
        monkeypatch.setenv("RMLS_DATA", str(request.getfixturevalue("data_dir")))
