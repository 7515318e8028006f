"""Registries that are slow, lie, redirect in circles or fish for passwords: one line, the right exit code."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.images.http import Access
from doctor.images.layer import Layer
from doctor.images.reference import parse_reference
from doctor.images.registry import RegistrySource
from doctor.images.source import Image, ImageError

from ..cli.command import gpudoctor, one_line
from .layouts import CONFIG, MANIFEST, config, sha256
from .servers import Answer, serving

ABOUT = json.dumps(config(env={"CUDA_VERSION": "12.8.0"})).encode()
LAYER = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": sha256(b"x"), "size": 1}
SECRET = "hunter2-of-the-tests"


def manifest(about: bytes = ABOUT, layers: int = 1, **changes: Any) -> bytes:
    described = {"mediaType": CONFIG, "digest": sha256(about), "size": len(about), **changes}
    return json.dumps(
        {"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": [LAYER] * layers}
    ).encode()


def sound(path: str) -> Answer:
    return Answer(body=ABOUT if "/blobs/" in path else manifest())


def read(address: str, timeout_s: float = 10, name: str = "a/b:1", **access: Any) -> Image:
    return RegistrySource(parse_reference(f"{address}/{name}"), Access(timeout_s=timeout_s, **access)).image("")


@pytest.fixture(autouse=True)
def stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """No credentials of this machine; `stored(address)` stores one."""
    for name in ("DOCKER_CONFIG", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("REGISTRY_AUTH_FILE", "DOCKER_HOST", "CONTAINER_HOST"):
        monkeypatch.delenv(name, raising=False)

    def store(address: str) -> None:
        auth = base64.b64encode(f"ann:{SECRET}".encode()).decode()
        (tmp_path / "config.json").write_text(json.dumps({"auths": {address: {"auth": auth}}}), "utf-8")

    return store


def test_a_sound_one_is_read() -> None:
    with serving(sound) as server:
        assert read(server.address).digest == sha256(manifest())
        assert [path.rpartition("/")[0] for path, _ in server.seen] == ["/v2/a/b/manifests", "/v2/a/b/blobs"]


def test_a_proxy_is_not_asked_for_a_registry_on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with serving(sound) as server:
        assert read(server.address).platform == "linux/amd64"
    with pytest.raises(ImageError, match="proxy") as caught:
        read("registry.example.com", 3)
    assert caught.value.unknown


def test_a_challenge_is_read_with_quotes_and_without(stored: Callable[[str], None]) -> None:
    with serving(lambda _: Answer(body=b'{"access_token": "abc"}')) as realm:
        for quote in ('"', ""):
            challenge = f"Bearer realm={quote}http://{realm.address}/t{quote},service={quote}x{quote}"
            state = {"asked": False}

            def answer(path: str, c: str = challenge, state: dict[str, bool] = state) -> Answer:
                if state["asked"]:
                    return sound(path)
                state["asked"] = True
                return Answer(401, headers={"WWW-Authenticate": c})

            with serving(answer) as server:
                assert read(server.address).platform == "linux/amd64"
                assert [auth for _, auth in server.seen][1:] == ["Bearer abc"] * 2
        assert realm.seen[0][0] == "/t?service=x&scope=repository%3Aa/b%3Apull".replace("a/b", "a%2Fb")


def of_manifest(answer: Answer) -> Callable[[str], Answer]:
    return lambda path: sound(path) if "/blobs/" in path else answer


def of_config(answer: Answer, about: bytes = ABOUT, **changes: Any) -> Callable[[str], Answer]:
    return lambda path: answer if "/blobs/" in path else Answer(body=manifest(about, **changes))


_FAT = json.dumps(config(labels={"x": "y" * (5 << 20)})).encode()
_DEEP = b"[" * 100_000
BAD: dict[str, tuple[Callable[[str], Answer], str, bool]] = {
    "other config": (
        of_config(Answer(body=ABOUT.replace(b"12.8", b"12.9"))),
        "does not match its digest: it was changed or damaged in transit", False,
    ),
    "a longer config": (of_config(Answer(body=ABOUT + b" ")), r"has \d+ bytes, not the \d+", False),
    "5 MB config": (of_config(Answer(body=_FAT), _FAT), "over 4 MiB is not plausible", False),
    "5 MB config, said to be small": (
        of_config(Answer(body=_FAT), _FAT, size=100),
        "bytes, but at most 4 MiB are accepted", False,
    ),
    "config in gzip": (of_config(Answer(body=gzip.compress(ABOUT), headers={"Content-Encoding": "gzip"})), "bytes, not the", False),
    "config is a list": (of_config(Answer(body=b"[]"), b"[]"), "cannot be read", False),
    "inner config is a text": (
        of_config(Answer(body=b'{"config": "x"}'), b'{"config": "x"}'),
        "is not an image config: its 'config' is not an object", False,
    ),
    "config nested deeply": (of_config(Answer(body=_DEEP), _DEEP), "cannot be read", False),
    "config cut": (of_config(Answer(body=ABOUT[:50], length=len(ABOUT))), r"was lost|50 of", True),
    "10,000 layers": (of_manifest(Answer(body=manifest(layers=10_000))), "lists 10000 layers", False),
    "another digest announced": (
        of_manifest(Answer(body=manifest(), headers={"Docker-Content-Digest": sha256(b"?")})),
        "does not match its digest: it was changed or damaged in transit",
        False,
    ),
    "no JSON": (of_manifest(Answer(body=b"<html>")), "cannot be read", False),
    "an empty manifest": (of_manifest(Answer(body=b"{}")), "neither a manifest nor an image index", False),
    "schema 1": (of_manifest(Answer(body=b'{"schemaVersion": 1, "fsLayers": []}')), "schema 1", False),
    "a path for a digest": (
        of_manifest(Answer(body=manifest(digest="../../etc/passwd"))),
        "contains an invalid digest: '../../etc/passwd'", False,
    ),
    "a negative size": (of_manifest(Answer(body=manifest(size=-5))), "has no size for sha256:", False),
    "6 MB manifest": (of_manifest(Answer(body=b" " * (6 << 20))), "bytes, but at most 4 MiB are accepted", False),
    "not found": (of_manifest(Answer(404)), "has no such image", False),
    "forbidden": (of_manifest(Answer(403)), "denies access to this image without a login", False),
    "401 without a challenge": (of_manifest(Answer(401)), "requires an unsupported authentication scheme", False),
    "rate limit": (
        of_manifest(Answer(429, headers={"Retry-After": "120"})),
        r"rate limiting requests: log in, or try again in 120 s", True,
    ),
    "down": (of_manifest(Answer(503)), "responded with 503", True),
    "redirect loop": (
        of_manifest(Answer(307, headers={"Location": "/v2/a/b/manifests/1"})),
        "redirects more than 5 times", False,
    ),
    "redirect to a file": (of_manifest(Answer(302, headers={"Location": "file:///etc/passwd"})), "not followed", False),
    "redirect to nothing": (of_manifest(Answer(302, headers={"Location": "http://127.0.0.1:9/x"})), "connection refused", True),
}  # fmt: skip


def test_each_fault_is_one_line() -> None:
    wrong = []
    for name, (answer, line, unknown) in BAD.items():
        with serving(answer) as server:
            try:
                read(server.address)
                wrong.append((name, "read"))
            except ImageError as error:
                import re

                if not re.search(line, str(error)) or error.unknown != unknown or "\n" in str(error):
                    wrong.append((name, str(error)))
    assert wrong == []


def test_a_registry_that_drips_is_given_up() -> None:
    with serving(of_config(Answer(body=ABOUT, pause_s=0.05))) as server:
        with pytest.raises(ImageError, match=r"did not (finish responding|respond) within 0\.3 s") as caught:
            read(server.address, 0.3)
        assert caught.value.unknown


def test_a_password_goes_to_no_other_host(stored: Callable[[str], None]) -> None:
    """A redirect to another host, and one back to the same port of another name, carry no Authorization."""
    challenge = {"WWW-Authenticate": 'Basic realm="x"'}
    with serving(sound) as other:
        here = {"open": False}

        def answer(path: str) -> Answer:
            if not here["open"]:
                here["open"] = True
                return Answer(401, headers=challenge)
            return Answer(307, headers={"Location": f"http://{other.address}{path}"})

        with serving(answer) as server:
            stored(server.address)
            assert read(server.address).platform == "linux/amd64"
            assert [auth.split()[0] if auth else "" for _, auth in server.seen] == ["", "Basic", "Basic"]
            assert SECRET in base64.b64decode(server.seen[1][1].split()[1]).decode()
        assert len(other.seen) == 2 and {auth for _, auth in other.seen} == {""}


def test_the_login_server_of_a_redirect_gets_nothing(stored: Callable[[str], None]) -> None:
    """A realm that redirects is not followed with the password; one in plain text gets none from an HTTPS registry."""
    with serving(lambda _: Answer(body=b'{"token": "t"}')) as thief:
        with serving(lambda _: Answer(307, headers={"Location": f"http://{thief.address}/"})) as realm:
            bearer = {"WWW-Authenticate": f'Bearer realm="http://{realm.address}/token",service="x"'}
            with serving(lambda _: Answer(401, headers=bearer)) as server:
                stored(server.address)
                with pytest.raises(ImageError) as caught:
                    read(server.address)
                assert SECRET not in str(caught.value)
        assert thief.seen == []


def test_another_host_that_wants_a_login_gets_none(stored: Callable[[str], None]) -> None:
    """The challenge of the host that a redirect leads to is not answered."""
    with serving(lambda _: Answer(body=b'{"token": "t"}')) as thief:
        bearer = {"WWW-Authenticate": f'Bearer realm="http://{thief.address}/token",service="x"'}
        for challenge in (bearer, {"WWW-Authenticate": 'Basic realm="x"'}):
            with serving(lambda _, c=challenge: Answer(401, headers=c)) as other:

                def answer(path: str, to: str = other.address) -> Answer:
                    return Answer(307, headers={"Location": f"http://{to}{path}"})

                with serving(answer) as server:
                    stored(server.address)
                    with pytest.raises(ImageError, match="denies access to this image"):
                        read(server.address)
                assert {auth for _, auth in other.seen} == {""}
        assert thief.seen == []


def test_no_line_shows_a_password(stored: Callable[[str], None]) -> None:
    with serving(lambda _: Answer(401, headers={"WWW-Authenticate": 'Basic realm="x"'})) as server:
        stored(server.address)
        done = gpudoctor("image", f"{server.address}/a/b:1", "--from", "registry")
        assert "denies access to this image with these credentials" in one_line(done)
        assert SECRET not in done.stderr.decode()


def test_a_layer_that_is_cut_or_of_another_offset_is_told() -> None:
    def answer(path: str) -> Answer:
        return Answer(206, b"abc", {"Content-Range": "bytes 0-2/10"})

    with serving(answer) as server:
        source = RegistrySource(parse_reference(f"{server.address}/a"), Access(timeout_s=5))
        with pytest.raises(ImageError, match="a different part of the layer than requested"):
            b"".join(source.open_layer(Layer(sha256(b"x"), 10, ""), 5))
    with serving(lambda _: Answer(200, b"0123456789")) as server:  # it knows no ranges
        source = RegistrySource(parse_reference(f"{server.address}/a"), Access(timeout_s=5))
        assert b"".join(source.open_layer(Layer(sha256(b"x"), 10, ""), 4)) == b"456789"
    with serving(lambda _: Answer(200, b"0123", length=10)) as server:
        source = RegistrySource(parse_reference(f"{server.address}/a"), Access(timeout_s=5))
        with pytest.raises(ImageError, match=r"the connection to .* was lost") as caught:
            b"".join(source.open_layer(Layer(sha256(b"x"), 10, "")))
        assert caught.value.unknown


@pytest.mark.skipif(not shutil.which("openssl"), reason="makes a certificate by openssl")
def test_tls_by_an_own_ca(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    make += [
        "-subj",
        "/CN=127.0.0.1",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        str(key),
        "-out",
        str(certificate),
    ]
    subprocess.run(make, check=True, capture_output=True, timeout=60)
    with serving(sound, (certificate, key)) as server:
        assert read(server.address, ca=str(certificate)).platform == "linux/amd64"
        with pytest.raises(
            ImageError, match=r"connection (reset|closed); if the registry uses TLS, pass its CA with --ca FILE"
        ):
            read(server.address)
        (tmp_path / "other.pem").write_bytes(_another(tmp_path))
        with pytest.raises(ImageError, match="is not signed by a trusted CA; pass its CA with --ca FILE") as caught:
            read(server.address, ca=str(tmp_path / "other.pem"))
        assert caught.value.unknown
    with (
        serving(sound) as server,
        pytest.raises(ImageError, match="does not use TLS; if that is expected, use --plain-http"),
    ):
        read(server.address, ca=str(certificate))


def _another(folder: Path) -> bytes:
    path = folder / "another.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    subprocess.run(
        [*make, "-subj", "/CN=x", "-keyout", f"{path}.key", "-out", path], check=True, capture_output=True, timeout=60
    )
    return path.read_bytes()
