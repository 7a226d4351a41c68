"""A stand-in of the Hugging Face Hub: the part of its HTTP API that models need."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

# As on the Hub: what is large, or no text, goes to the store of large files.
LARGE = (".safetensors", ".bin")


@dataclass
class Repository:
    """Commits, oldest first; each is all files by name."""

    private: bool
    commits: list[tuple[str, dict[str, bytes]]] = field(default_factory=list)

    def files_of(self, revision: str) -> tuple[str, dict[str, bytes]] | None:
        """Return a commit and its files."""
        if revision == "main" and self.commits:
            return self.commits[-1]
        return next((each for each in self.commits if each[0] == revision), None)


@dataclass
class LocalHub:
    """What the server holds, and what was asked of it."""

    address: str = ""
    token: str | None = "secret"
    repositories: dict[str, Repository] = field(default_factory=dict)
    large: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def create(self, wanted: dict[str, Any]) -> tuple[int, Any]:
        """Make a repository."""
        owner = wanted.get("organization") or "me"
        name = f"{owner}/{wanted['name']}"
        if name in self.repositories:
            return 409, {"error": "it exists", "url": f"{self.address}/{name}"}
        private = wanted.get("visibility") == "private" or bool(wanted.get("private"))
        # As there: a new repository has a commit of its own.
        self.repositories[name] = Repository(private, [("0" * 40, {".gitattributes": b""})])
        return 200, {"url": f"{self.address}/{name}", "name": name}

    def commit(self, name: str, lines: list[dict[str, Any]]) -> tuple[int, Any]:
        """Add a commit to a repository; large files must have been sent before."""
        repository = self.repositories[name]
        files = dict(repository.commits[-1][1]) if repository.commits else {}
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.large[value["oid"]]
        number = hashlib.sha1(f"{name} {len(repository.commits)}".encode()).hexdigest()
        repository.commits.append((number, files))
        address = f"{self.address}/{name}/commit/{number}"
        return 200, {"commitUrl": address, "commitOid": number, "pullRequestUrl": None}

    def batch(self, wanted: dict[str, Any]) -> tuple[int, Any]:
        """Say where large files are to be sent."""
        objects = []
        for each in wanted["objects"]:
            href = f"{self.address}/large/{each['oid']}"
            upload = {} if each["oid"] in self.large else {"actions": {"upload": {"href": href}}}
            objects.append({"oid": each["oid"], "size": each["size"], **upload})
        return 200, {"transfer": "basic", "objects": objects}

    def describe(self, name: str, revision: str) -> tuple[int, Any]:
        """Return what is known of a repository."""
        found = self.repositories[name].files_of(revision)
        if found is None:
            return 404, {"error": "Revision Not Found"}
        siblings = [{"rfilename": file} for file in sorted(found[1])]
        return 200, {"id": name, "modelId": name, "sha": found[0], "siblings": siblings}


class _Handler(BaseHTTPRequestHandler):
    hub: LocalHub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        path = unquote(urlsplit(self.path).path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.hub.asked.append(f"POST {path}")
        if not self._is_known():
            self._answer(401, {"error": "who are you?"})
        elif path == "/api/validate-yaml":
            self._answer(*_check_card(json.loads(body)["content"]))
        elif path == "/api/repos/create":
            self._answer(*self.hub.create(json.loads(body)))
        elif path.endswith(".git/info/lfs/objects/batch"):
            self._answer(*self.hub.batch(json.loads(body)))
        elif "/preupload/" in path:
            files = [
                {
                    "path": each["path"],
                    "uploadMode": "lfs" if each["path"].endswith(LARGE) else "regular",
                    "shouldIgnore": False,
                }
                for each in json.loads(body)["files"]
            ]
            self._answer(200, {"files": files})
        elif "/commit/" in path:
            name = path.removeprefix("/api/models/").partition("/commit/")[0]
            lines = [json.loads(line) for line in body.splitlines()]
            self._answer(*self.hub.commit(name, lines))
        else:
            self._answer(404, {"error": "unknown"})

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        oid = self.path.rpartition("/")[2]
        if hashlib.sha256(content).hexdigest() != oid:
            self._answer(400, {"error": "not what was announced"})
            return
        self.hub.large[oid] = content
        self._answer(200, {})

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(f"{self.command} {path}")
        if path.startswith("/api/models/"):
            name, _, revision = path.removeprefix("/api/models/").partition("/revision/")
            if not self._may_see(name):
                self._answer(404, {"error": "none"}, {"X-Error-Code": "RepoNotFound"})
                return
            code, found = self.hub.describe(name, revision or "main")
            headers = {"X-Error-Code": "RevisionNotFound"} if code == 404 else {}
            self._answer(code, found, headers)
        elif "/resolve/" in path:
            self._resolve(path)
        else:
            self._answer(404, {"error": "unknown"})

    do_HEAD = do_GET

    def _resolve(self, path: str) -> None:
        name, _, rest = path.strip("/").partition("/resolve/")
        revision, _, file = rest.partition("/")
        found = self.hub.repositories[name].files_of(revision) if self._may_see(name) else None
        if found is None or file not in found[1]:
            self._answer(404, {"error": "none"}, {"X-Error-Code": "EntryNotFound"})
            return
        content = found[1][file]
        etag = hashlib.sha256(content).hexdigest()
        headers = {"X-Repo-Commit": found[0], "ETag": f'"{etag}"'}
        self._send(200, content, {**headers, "Content-Type": "application/octet-stream"})

    def _may_see(self, name: str) -> bool:
        found = self.hub.repositories.get(name)
        return found is not None and (not found.private or self._is_known())

    def _is_known(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {self.hub.token}"

    def _answer(self, code: int, value: Any, headers: dict[str, str] | None = None) -> None:
        given = {"Content-Type": "application/json", **(headers or {})}
        self._send(code, json.dumps(value).encode(), given)

    def _send(self, code: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _check_card(text: str) -> tuple[int, Any]:
    """Refuse a card whose header is no mapping of YAML, as the Hub does."""
    try:
        import yaml

        header = yaml.safe_load(text.split("---")[1])
        assert isinstance(header, dict)
    except ImportError:
        pass
    except Exception as error:
        return 400, {"errors": [{"message": str(error)}], "warnings": []}
    return 200, {"errors": [], "warnings": []}


@contextmanager
def running_hub() -> Iterator[LocalHub]:
    """Run a server with nothing on it until the block ends."""
    hub = LocalHub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
