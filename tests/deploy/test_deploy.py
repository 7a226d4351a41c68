"""What docs/service/deploy.md offers: the container, the unit and the proxy."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from places import REPOSITORY
from typer.main import get_command

from rmls.cli.app import app
from rmls.serve import Settings

DEPLOY = REPOSITORY / "deploy"
CONTAINER = (DEPLOY / "Containerfile").read_text("utf-8")
UNIT = (DEPLOY / "rmls.service").read_text("utf-8")
NGINX = (DEPLOY / "nginx.conf").read_text("utf-8")
PAGE = (REPOSITORY / "docs" / "service" / "deploy.md").read_text("utf-8")


def start(home: Path, *words: str, **environment: str) -> list[str]:
    """Run the start of a container with a stand-in for rmls; returns what that is called with."""
    tools = home / "bin"
    tools.mkdir(exist_ok=True)
    stand_in = tools / "rmls"
    stand_in.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    stand_in.chmod(0o755)
    path = f"{tools}:{Path(shutil.which('python3') or '').parent}:{os.environ['PATH']}"
    run = subprocess.run(
        ["sh", str(DEPLOY / "container-start"), *words],
        env={"PATH": path, "RMLS_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.splitlines()


def test_a_container_makes_its_token_once_and_keeps_it(tmp_path: Path) -> None:
    if shutil.which("python") is None:
        pytest.skip("there is no python on the path")
    called = start(tmp_path, "--demo")
    token = tmp_path / "token"
    assert called[:5] == ["serve", "--host", "0.0.0.0", "--port", "8000"]
    assert called[5:] == ["--token-file", str(token), "--demo"]
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    before = token.read_text()
    assert len(before.strip()) >= 32
    start(tmp_path, "--demo")
    assert token.read_text() == before


def test_a_container_takes_the_token_it_is_given(tmp_path: Path) -> None:
    called = start(tmp_path, "/models/art", RMLS_TOKEN="given elsewhere")
    assert called[5:] == ["/models/art"]
    assert not (tmp_path / "token").exists()


def test_the_container_has_no_rights_and_says_how_it_is() -> None:
    user = re.findall(r"^USER (\d+):\d+$", CONTAINER, re.MULTILINE)
    assert user
    assert user[-1] != "0"
    # Nothing behind it runs as root.
    assert "RUN" not in CONTAINER.split("USER")[1]
    assert "/healthz" in CONTAINER.split("HEALTHCHECK")[1]
    assert ":latest" not in CONTAINER
    copied = re.findall(r"^COPY (?!--from)(?:--\S+ )?(.+) \S+$", CONTAINER, re.MULTILINE)
    for name in " ".join(copied).split():
        assert (REPOSITORY / name).exists()
        assert f"!{name}" in (REPOSITORY / ".containerignore").read_text()


@pytest.mark.parametrize("text", [CONTAINER, UNIT, PAGE, (DEPLOY / "container-start").read_text()])
def test_every_option_of_the_service_exists(text: str) -> None:
    command = get_command(app).commands["serve"]  # type: ignore[attr-defined]
    known = {name for parameter in command.params for name in parameter.opts}
    calls = re.findall(r"rmls serve\b((?:[^\n\\`]|\\\n)*)", text)
    for call in calls:
        assert set(re.findall(r"(?<!\S)--[a-z-]+", call)) <= known


def test_the_proxy_has_the_limits_of_the_service() -> None:
    assert "client_max_body_size 4m;" in NGINX
    assert Settings().max_body <= 4 * 2**20
    (waits,) = re.findall(r"proxy_read_timeout\s+(\d+)s", NGINX)
    assert int(waits) > Settings().max_seconds
    assert "proxy_set_header Authorization     $http_authorization;" in NGINX
    assert NGINX.count("{") == NGINX.count("}")


def test_the_proxy_is_read_by_nginx(tmp_path: Path) -> None:
    nginx, openssl = shutil.which("nginx"), shutil.which("openssl")
    if nginx is None or openssl is None:
        pytest.skip("nginx or openssl is not installed")
    key, certificate = tmp_path / "privkey.pem", tmp_path / "fullchain.pem"
    made = f"req -x509 -newkey rsa:2048 -nodes -subj /CN=x -keyout {key} -out {certificate}"
    subprocess.run([openssl, *made.split()], check=True, capture_output=True)
    text = NGINX.replace("/etc/letsencrypt/live/labels.example.org", str(tmp_path))
    whole = f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{text}\n}}\n"
    (tmp_path / "nginx.conf").write_text(whole)
    run = subprocess.run(
        [nginx, "-t", "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


def test_the_unit_is_read_by_systemd(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "rmls.service"
    unit.write_text(UNIT.replace("/opt/rmls/bin/rmls", "/bin/true"))
    run = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True)
    mine = [line for line in run.stderr.splitlines() if "rmls.service" in line]
    assert mine == []


def test_the_unit_leaves_little_open(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "rmls.service"
    unit.write_text(UNIT)
    words = [analyze, "security", "--offline=true", "--threshold=15", "--no-pager", str(unit)]
    run = subprocess.run(words, capture_output=True, text=True)
    if "unrecognized option" in run.stderr:
        pytest.skip("this systemd-analyze is too old to look at a file")
    # Tenths of the exposure: 0 is closed, 100 is open.
    assert run.returncode == 0, run.stdout
