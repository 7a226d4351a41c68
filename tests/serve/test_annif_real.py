"""Annif's own client, page and ``http`` backend, unchanged, against our service.

They run in the interpreter of these tests where they are installed, in that of ``make peers-text``,
or in one that RMLS_TOOLS_PYTHON names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from other_tools import need_python
from protocol_samples import SEA, URIS, read_lines, running, settings, store

from rmls.serve import make_app

TOKEN = "a token of the tests"
CLIENT = """
import json, sys
from annif_client import AnnifClient
client = AnnifClient(api_base=sys.argv[1])
text = sys.argv[2]
try:
    client.get_project("none")
except ValueError as error:
    missing = str(error)
print(json.dumps({
    "info": client.api_info,
    "projects": client.projects,
    "project": client.get_project("topics"),
    "missing": missing,
    "suggest": client.suggest("topics", text, limit=2, threshold=0.01),
    "batch": client.suggest_batch("topics", [{"text": text, "document_id": "d"}], limit=1),
    "learn": client.learn("topics", [{"text": text, "subjects": [
        {"uri": "urn:rmls:label:sea", "label": "sea"}]}]).status_code,
    "language": client.detect_language("der Fuchs und die Katze", ["en", "de"]),
}))
"""
PROJECTS = """
[ours]
name=ours
language=en
backend=http
vocab=topics
endpoint={address}/v1/projects/uris/suggest

[again]
name=again
language=en
backend=http
vocab=topics
endpoint={address}/v1/projects/uris/suggest
limit=2

[both]
name=both
language=en
backend=ensemble
vocab=topics
sources=ours:1,again:1
"""
# What a person does, at the end of the page.
PERSON = """
<script>
window.addEventListener("load", () => setTimeout(() => {
  const area = document.getElementById("text");
  area.value = TEXT;
  area.dispatchEvent(new Event("input"));
  setTimeout(() => document.getElementById("get-suggestions").click(), 200);
}, 1000));
</script>
"""


def test_its_client_works_unchanged_with_a_token_too(tmp_path: Path) -> None:
    python = need_python("annif_client", "annif-client")
    journal = tmp_path / "feedback.jsonl"
    with running(make_app(store(), settings(journal, token=TOKEN))) as address:
        # The token is the password of any name.
        base = f"http://client:{TOKEN.replace(' ', '%20')}@{address}/v1/"
        run = subprocess.run([python, "-c", CLIENT, base, SEA], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["info"]["version"]
    assert told["project"] in told["projects"]
    assert "none" in told["missing"]
    assert told["suggest"][0]["label"] == "sea"
    assert told["batch"][0]["document_id"] == "d"
    assert told["batch"][0]["results"] == told["suggest"][:1]
    assert told["learn"] == 204
    assert told["language"]["results"][0]["language"] == "de"
    assert [line["added"] for line in read_lines(journal)] == [["sea"]]


@pytest.mark.slow
def test_annif_takes_us_into_an_ensemble(tmp_path: Path) -> None:
    annif = Path(need_python("annif", "annif")).with_name("annif")
    vocabulary = tmp_path / "topics.tsv"
    vocabulary.write_text("".join(f"<{uri}>\t{name}\n" for name, uri in URIS.items()), "utf-8")
    with running(make_app(store(), settings())) as address:
        configured = PROJECTS.format(address=f"http://{address}")
        (tmp_path / "projects.cfg").write_text(configured, "utf-8")
        more = {"ANNIF_DATADIR": str(tmp_path / "data"), "ANNIF_PROJECTS": "projects.cfg"}

        def ask(*words: str) -> str:
            run = subprocess.run(
                [str(annif), *words],
                cwd=tmp_path,
                env={**os.environ, **more},
                input=SEA,
                capture_output=True,
                text=True,
            )
            assert run.returncode == 0, run.stderr
            return run.stdout

        ask("load-vocab", "--language", "en", "topics", str(vocabulary))
        assert "True" in next(line for line in ask("list-projects").splitlines() if "ours" in line)
        alone = [line.split("\t") for line in ask("suggest", "ours").splitlines()]
        both = [line.split("\t") for line in ask("suggest", "both").splitlines()]
    expected = store().get("uris").model.suggest([SEA], k=1)[0][0]
    assert alone[0][:2] == [f"<{URIS['sea']}>", "sea"]
    assert float(alone[0][2]) == pytest.approx(expected.probability, abs=1e-3)
    assert both[0] == alone[0]


def annif_page(folder: Path, text: str) -> FastAPI:
    """Return our service with Annif's page in front of it."""
    html = (folder / "templates" / "home.html").read_text("utf-8")
    html = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "", html)
    html = html.replace("</body>", PERSON.replace("TEXT", json.dumps(text)) + "</body>")
    front = FastAPI()
    front.get("/annif", response_class=HTMLResponse)(lambda: html)
    front.mount("/static", StaticFiles(directory=folder / "static"))
    front.mount("/", make_app(store(), settings()))
    return front


@pytest.mark.slow
def test_its_page_works_unchanged(tmp_path: Path) -> None:
    python = need_python("annif", "annif")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium to open the page with")
    where = "import annif, os; print(os.path.dirname(annif.__file__))"
    found = subprocess.run([python, "-c", where], capture_output=True, text=True, check=True)
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    options += ["--virtual-time-budget=15000", "--dump-dom"]
    with running(annif_page(Path(found.stdout.strip()), SEA)) as address:
        page = subprocess.run(
            [browser, *options, f"http://{address}/annif"],
            capture_output=True,
            text=True,
        ).stdout
    assert "Please correct" not in page
    assert "Project ID: topics" in page
    assert re.search(r"Annif v\d", page)
    result = r'<meter[^>]*value="([\d.]+)"[^>]*></meter>\s*<a href="([^"]+)">([^<]*)</a>'
    best = re.search(result, page)
    assert best is not None
    assert best.group(2, 3) == ("urn:rmls:label:sea", " sea")
    assert 0 < float(best.group(1)) <= 1
