"""docker-registry on loopback, with and without token authentication; skopeo copies layouts into it."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from .layouts import Layout

USER, PASSWORD = "ann", "correct-horse-battery"


@dataclass(frozen=True)
class Running:
    """One registry. `log`: where it writes each request."""

    address: str
    log: Path
    logged_in: bool = False

    def push(self, layout: Layout, name: str, tag: str = "latest") -> str:
        """Copy what `tag` names in the layout, all platforms of it; the reference to ask for."""
        copy = ["skopeo", "copy", "--all", "--preserve-digests", "--dest-tls-verify=false", "--insecure-policy"]
        copy += [f"--dest-creds={USER}:{PASSWORD}"] if self.logged_in else []
        target = f"{self.address}/{name}"
        done = subprocess.run(
            [*copy, f"oci:{layout.folder}:{tag}", f"docker://{target}"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return target

    def requests(self) -> list[str]:
        """`GET /v2/cuda/manifests/12.8 200` of every request so far, in order."""
        found = re.findall(r'"(GET|HEAD|POST|PUT|PATCH) (/v2/\S*) HTTP/1.1" (\d{3})', self.log.read_text("utf-8"))
        return [" ".join(words) for words in found]

    @contextlib.contextmanager
    def counted(self) -> Iterator[list[str]]:
        """The requests that were made inside."""
        before, seen = len(self.requests()), list[str]()
        yield seen
        time.sleep(0.2)  # the log is written after the answer
        seen += self.requests()[before:]


@contextlib.contextmanager
def registry(folder: Path, realm: str = "", certificate: str = "") -> Iterator[Running]:
    """docker-registry with its files in `folder`; with `realm` it wants a token from there, signed by `certificate`."""
    folder.mkdir(parents=True)
    port = free_port()
    lines = ["version: 0.1", "log: {level: error}", f"http: {{addr: '127.0.0.1:{port}'}}"]
    lines.append(f"storage: {{filesystem: {{rootdirectory: '{folder}/data'}}, delete: {{enabled: true}}}}")
    if realm:
        about = f"realm: '{realm}', service: registry, issuer: tests, rootcertbundle: '{certificate}'"
        lines.append(f"auth: {{token: {{{about}}}}}")
    (folder / "config.yml").write_text("\n".join(lines), "utf-8")
    with (folder / "log").open("wb") as log:
        child = subprocess.Popen(["docker-registry", "serve", f"{folder}/config.yml"], stdout=log, stderr=log)
        try:
            wait_for(port, child)
            yield Running(f"127.0.0.1:{port}", folder / "log", bool(realm))
        finally:
            child.terminate()
            child.wait(20)


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(port: int, child: subprocess.Popen[bytes]) -> None:
    """Until somebody listens there."""
    for _ in range(400):
        assert child.poll() is None, "it ended at its start"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise AssertionError(f"nobody listens on port {port}")


class TokenServer:
    """Gives tokens for pulling and pushing to whoever knows the password, as docker's token specification says."""

    def __init__(self, folder: Path) -> None:
        self.key, self.certificate = folder / "key.pem", folder / "cert.pem"
        make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tests"]
        subprocess.run(
            [*make, "-keyout", self.key, "-out", self.certificate], check=True, capture_output=True, timeout=60
        )
        der = subprocess.run(
            ["openssl", "x509", "-in", self.certificate, "-outform", "DER"], check=True, capture_output=True, timeout=60
        ).stdout
        self._header = {"typ": "JWT", "alg": "RS256", "x5c": [base64.b64encode(der).decode()]}
        self.logins: list[str] = []
        """What each request proved itself by: `basic ann`, `refresh`, or nothing."""
        self.refresh_token = "identity-token-of-ann"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.realm = f"http://127.0.0.1:{self._server.server_address[1]}/token"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                given = self.headers.get("Authorization", "")
                server.logins.append(f"basic {_user(given)}" if given else "")
                right = given == f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"
                self._answer(right or not given, bool(given), parse_qs(urlsplit(self.path).query))

            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                server.logins.append("refresh")
                self._answer(form.get("refresh_token") == [server.refresh_token], True, form)

            def _answer(self, right: bool, known: bool, query: dict[str, list[str]]) -> None:
                scopes = query.get("scope", []) if known else []
                body = (
                    json.dumps({"token": server.token(scopes, query.get("service", [""])[0])}).encode()
                    if right
                    else b"{}"
                )
                self.send_response(200 if right else 401)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        return Handler

    def token(self, scopes: list[str], service: str) -> str:
        """A JSON web token for these scopes."""
        now = int(time.time())
        access = []
        for scope in scopes:
            kind, name, actions = scope.split(":", 2)
            access.append({"type": kind, "name": name, "actions": actions.split(",")})
        claims = {
            "iss": "tests",
            "sub": USER,
            "aud": service,
            "exp": now + 300,
            "nbf": now - 10,
            "iat": now,
            "jti": "1",
            "access": access,
        }
        text = ".".join(_base64(json.dumps(part).encode()) for part in (self._header, claims))
        signed = subprocess.run(
            ["openssl", "dgst", "-sha256", "-sign", self.key],
            input=text.encode(),
            check=True,
            capture_output=True,
            timeout=60,
        ).stdout
        return f"{text}.{_base64(signed)}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _user(authorization: str) -> str:
    with contextlib.suppress(ValueError):
        return base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")[0]
    return "?"
