"""A deadline counts time: whatever trickles, the answer is given up when its time is over, in one line."""

from __future__ import annotations

import gzip
import io
import os
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

from doctor.images.credentials import credentials_for
from doctor.images.http import Access
from doctor.images.layer import Layer
from doctor.images.layers.download import Download
from doctor.images.layout import LayoutSource
from doctor.images.reference import parse_reference
from doctor.images.registry import RegistrySource
from doctor.images.source import ImageError

from ..cli.command import gpudoctor
from ..rows import for_each
from .servers import answering, drip

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
DRIPS = {
    "100 Continue without end": drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a status of one byte at a time": drip(b"HTTP/1.1 200 ", b"O"),
    "headers without end": drip(_HEAD, b"X-A: b\r\n", 0.1),
    "a body of one byte at a time": drip(_HEAD + b"Content-Length: 5000\r\n\r\n", b" "),
    "chunks of one byte": drip(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "a refusal of one byte at a time": drip(b"HTTP/1.1 404 Not Found\r\nContent-Length: 50", b"0"),
    "nothing": drip(b"", b"", 0.1),
}


def source(address: str, timeout_s: float = 0.5, plain: bool = True) -> RegistrySource:
    reference = parse_reference(f"{address}/a/b:1")
    found = RegistrySource(reference, Access(timeout_s=timeout_s))
    if not plain:
        found.registry.base = found.registry.base.replace("http:", "https:")
    return found


@for_each("name", DRIPS, quick=6)
def test_an_answer_that_drips_is_given_up(name: str) -> None:
    with (
        answering(DRIPS[name]) as address,
        pytest.raises(ImageError, match=r"did not (finish responding|respond) within 0\.5 s") as caught,
    ):
        source(address).image("")
    assert caught.value.unknown


def test_so_is_a_handshake_of_tls() -> None:
    """The server's first record is announced as 16,000 bytes, and comes one by one."""
    late = pytest.raises(ImageError, match=r"did not (finish responding|respond) within 0\.5 s")
    with answering(drip(b"\x16\x03\x03\x3e\x80", b"\x02")) as address, late:
        source(address, plain=False).image("")


@pytest.mark.slow
def test_so_is_a_name_whose_addresses_never_come(tmp_path: Path) -> None:
    """The resolver of a dead network waits longer than any deadline."""
    shim = tmp_path / "resolver.so"
    code = "#include <unistd.h>\nint getaddrinfo(void *a, void *b, void *c, void *d) { sleep(600); return 0; }\n"
    (tmp_path / "resolver.c").write_text(code, "utf-8")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, tmp_path / "resolver.c"], check=True)
    done = gpudoctor("image", "registry.example/a/b:1", "--timeout", "1", env={"LD_PRELOAD": str(shim)})
    assert done.returncode == 3
    assert b"registry.example did not finish responding within 1 s" in done.stdout + done.stderr


def test_so_is_a_layer_and_it_is_not_asked_for_again() -> None:
    asked = []

    def layer(client: object) -> None:
        asked.append(1)
        drip(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n", b"\0")(client)  # type: ignore[arg-type]

    with answering(layer) as address:
        registry = source(address)
        one = Layer("sha256:" + "0" * 64, 100_000_000, "application/vnd.oci.image.layer.v1.tar")
        with pytest.raises(ImageError, match="did not finish responding within"):
            Download(one, registry.open_layer, lambda count: None).rest()
    assert len(asked) == 1


def _bomb(path: Path, member: str, size: int) -> None:
    """A gzip of a tar whose one member is of zeros."""
    head = tarfile.TarInfo(member)
    head.size = size
    path.write_bytes(gzip.compress(head.tobuf()) + gzip.compress(bytes(1 << 22)) * (size >> 22))


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_not_read(tmp_path: Path) -> None:
    _bomb(tmp_path / "bomb.tar.gz", "layer.tar", 300 << 20)
    with pytest.raises(ImageError, match="expands to over 200 times its size"):
        LayoutSource(str(tmp_path / "bomb.tar.gz")).image("")


def test_an_archive_that_is_only_small_is_read(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        info = tarfile.TarInfo("zeros")
        info.size = 20 << 20
        tar.addfile(info, io.BytesIO(bytes(info.size)))
    with pytest.raises(ImageError, match="contains no image"):
        LayoutSource(str(tmp_path / "a.tar.gz")).image("")


def test_a_credential_helper_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that writes without end has nothing; what it wrote on stderr is not kept."""
    helper = tmp_path / "docker-credential-endless"
    helper.write_text("#!/bin/sh\nyes x >&2 &\nexec yes '{}'\n")
    helper.chmod(stat.S_IRWXU)
    (tmp_path / "config.json").write_text('{"credsStore": "endless"}')
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert credentials_for("example.org", "a") is None
