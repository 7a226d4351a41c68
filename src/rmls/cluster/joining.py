"""Joining a Ray cluster, or saying in one sentence why that is not possible."""

from __future__ import annotations

import os
import platform
import socket
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rmls.core.errors import InputError
from rmls.core.optional import import_extra
from rmls.core.version import VERSION

AUTO = "auto"
# Seconds: a host that does not answer by then is not there; a node that left may come back.
ANSWERS, RETURNS = 10.0, 60.0
# What Ray says when the nodes run another version of itself or of Python.
MISMATCH = "Version mismatch"
# What it says when the cluster wants a token that this process has not got.
NO_TOKEN = "InvalidAuthToken"


def join(address: str) -> tuple[Any, bool]:
    """Return Ray, connected to a cluster, and whether we have connected it."""
    # Ray reports the use of itself over the network, which nobody has asked for.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = import_extra("ray", "cluster", "a cluster")
    if ray.is_initialized():
        return ray, False
    _require_answer(address)
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="error",
            ignore_reinit_error=True,
            configure_logging=False,
        )
    except ConnectionError as error:
        if NO_TOKEN in f"{error} {error.__cause__}":
            raise InputError(
                f"the Ray cluster at {address} wants a token; give Ray the one that it was started "
                "with (RAY_AUTH_MODE=token), on every machine."
            ) from None
        raise _nobody(address) from None
    except (RuntimeError, ValueError) as error:
        if MISMATCH in str(error):
            raise InputError(_mismatch(str(error))) from None
        raise _nobody(address) from error
    return ray, True


def _nobody(address: str) -> InputError:
    where = "on this machine" if address == AUTO else f"at {address}"
    return InputError(
        f"there is no Ray cluster {where}; start one with: ray start --head, or name local:4 "
        "instead of it for threads of this machine."
    )


def _require_answer(address: str) -> None:
    """Refuse an address that nobody listens at; Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    if address == AUTO or not port.isdecimal():
        return
    try:
        host = host.rpartition("/")[2]
        socket.create_connection((host, int(port)), ANSWERS).close()
    except (OSError, OverflowError):
        raise _nobody(address) from None


def _mismatch(text: str) -> str:
    words = " ".join(text.split())
    said = words[words.index(MISMATCH) :][:200].rstrip(".")
    return f"the nodes run another Ray or Python than this process ({said}); install the same."


def require_workers(ray: Any) -> int:
    """Return how many tasks the nodes run at a time; waits a while for nodes that have left."""
    started = time.monotonic()
    while True:
        nodes = [node for node in ray.nodes() if node["Alive"]]
        n_workers = int(sum(node["Resources"].get("CPU", 0) for node in nodes))
        if n_workers:
            return n_workers
        if time.monotonic() - started > RETURNS:
            raise InputError(
                "no node of the cluster has a processor left for work; add nodes, and go on with "
                "--resume."
            )
        time.sleep(1.0)


def check_nodes(ray: Any, see: Sequence[str]) -> int:
    """Raise a sentence where a node has other versions, or does not see a folder.

    Returns how many parts the machines of the nodes have cores for.
    """

    # Nested: Ray sends it as it is, and a node without rmls can still answer.
    def look(paths: list[str]) -> dict[str, Any]:
        import os
        import platform
        import socket

        try:
            from rmls.core.version import VERSION as version
        except ImportError as error:
            version = f"none ({error})"
        given = getattr(os, "sched_getaffinity", None)
        return {
            "host": socket.gethostname(),
            "cores": len(given(0)) if given else os.cpu_count() or 1,
            "rmls": version,
            "Python": platform.python_version(),
            "unseen": [path for path in paths if not os.path.exists(path)],
        }

    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    asked = []
    for node in ray.nodes():
        n_workers = int(node["Resources"].get("CPU", 0))
        if node["Alive"] and n_workers:
            place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            task = ray.remote(look).options(num_cpus=0, max_retries=0, scheduling_strategy=place)
            asked.append((task.remote(list(see)), n_workers))
    answers = [(_ask(ray, reference), n_workers) for reference, n_workers in asked]
    # A node that leaves meanwhile takes no part: those that are left do the work.
    present = [(answer, n_workers) for answer, n_workers in answers if answer]
    for answer, _ in present:
        _check_answer(answer)
    return _count_cores(present)


def _count_cores(present: list[tuple[dict[str, Any], int]]) -> int:
    """Return how many parts can run at a time: nodes of one machine share its cores.

    Examples
    --------
    >>> _count_cores([({"host": "a", "cores": 2}, 1)] * 4 + [({"host": "b", "cores": 8}, 4)])
    6
    """
    cores, workers = Counter[str](), Counter[str]()
    for answer, n_workers in present:
        cores[answer["host"]] = max(cores[answer["host"]], answer["cores"])
        workers[answer["host"]] += n_workers
    return max(sum((cores & workers).values()), 1)


def _ask(ray: Any, reference: Any) -> dict[str, Any] | None:
    try:
        answer: dict[str, Any] = ray.get(reference)
    except ray.exceptions.RayError:
        return None
    return answer


def _check_answer(answer: dict[str, Any]) -> None:
    own = {"rmls": VERSION, "Python": platform.python_version()}
    for name, version in own.items():
        # Another patch of Python reads the same pickles.
        if version.split(".")[:2] != answer[name].split(".")[:2] or (
            name == "rmls" and version != answer[name]
        ):
            raise InputError(
                f"the node {answer['host']} has {name} {answer[name]} and this process has "
                f"{version}; install the same on all nodes."
            )
    if answer["unseen"]:
        raise InputError(
            f"the node {answer['host']} does not see {answer['unseen'][0]}; put it into a folder "
            "that all nodes of the cluster see."
        )
