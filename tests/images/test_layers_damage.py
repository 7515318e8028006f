"""Layers that lie, are cut, or mean harm: one clear line, bounded memory, and nothing outside of the image is looked at."""

from __future__ import annotations

import gzip
import io
import struct
import subprocess
import sys
import tarfile
import tracemalloc
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.formats.elf_forward import read_library
from doctor.formats.tar_stream import TarError, TarStream
from doctor.images.layer import Layer
from doctor.images.layers import layers_snapshot, scan
from doctor.images.layers.download import Download
from doctor.images.layers.unpack import Unpacked
from doctor.images.source import ImageError

from ..drawn import drawn
from ..readers import forward
from ..rows import for_each
from . import layer_sources as made
from .layer_sources import SITE, Opened, folder, link
from .layouts import Blob, compressed, layer, tar_of

SMALL = made.base() | {f"{SITE}/torch/version.py": b"__version__ = '2.6.0'\ncuda = None\n"}


def failure(*blobs: Blob, **opened: object) -> ImageError:
    """The one line that reading these layers ends in."""
    source = Opened(*blobs, **opened)  # type: ignore[arg-type]
    with pytest.raises(ImageError) as caught:
        scan(source.layers, source, whole=True)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
    return caught.value


def raw(data: bytes) -> Blob:
    """A layer of exactly these bytes."""
    blob = layer({})
    blob.data = data
    return blob


@for_each(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b"no tar at all" * 100, "check sum"),
        (gzip.compress(b"no tar at all" * 100), "check sum"),
        (gzip.compress(tar_of(SMALL))[:-300], "damaged gzip data: it is truncated"),
        (tar_of(SMALL)[:2_000], "ends inside"),
        (gzip.compress(tar_of(SMALL))[:100] + b"\xff" * 500, "damaged gzip"),
        (compressed(tar_of(SMALL), "zstd")[:30] + b"\xff" * 500, "damaged zstd"),
        (b"\x1f\x8b", "damaged gzip data: it is truncated"),
    ],
)
def test_what_is_no_archive(data: bytes, words: str) -> None:
    assert words in str(failure(raw(data)))
    assert not failure(raw(data)).unknown


def test_a_layer_that_is_not_what_its_digest_says() -> None:
    good = layer(SMALL)
    source = Opened(good)
    other = Layer("sha256:" + "0" * 64, len(good.data), good.media_type)
    with pytest.raises(ImageError, match=r"layer sha256:0{12} does not match its digest: it has sha256:"):
        scan([other], lambda _, offset=0: source(source.layers[0], offset), whole=True)


@for_each(("size", "words"), [(-100, "is longer than the manifest says"), (100, "ends after")])
def test_a_size_that_lies(size: int, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.images.layers.download._WAIT_S", 0)
    good = layer(SMALL)
    source = Opened(good)
    other = Layer(source.layers[0].digest, len(good.data) + size, good.media_type)
    with pytest.raises(ImageError, match=words) as caught:
        scan([other], lambda _, offset=0: source(source.layers[0], offset), whole=True)
    assert caught.value.unknown == (size > 0)


def test_a_connection_that_breaks_each_time_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.images.layers.download._WAIT_S", 0)
    error = failure(layer(SMALL), piece=50, cuts=[200] * 9)
    assert "ends after 200 of" in str(error) and "the connection broke" in str(error) and error.unknown


@pytest.mark.parametrize("compression", ["zstd", pytest.param("gzip", marks=pytest.mark.slow)])
def test_a_layer_of_zeros_is_not_unpacked_for_hours(compression: str) -> None:
    header = tarfile.TarInfo("zeros")
    header.size = 1 << 40
    head = header.tobuf(tarfile.GNU_FORMAT)
    frame = compressed(bytes(8 << 20), compression)  # frames and members may follow each other
    data = compressed(head, compression) + frame * 150
    assert "expands to over 200 times its size" in str(failure(raw(data)))


@for_each("name", ["../etc/os-release", "/../../etc/os-release", "etc/../../x/os-release", "a/../etc/os-release"])
def test_names_that_lead_out_are_left_out(name: str) -> None:
    facts = made.whole_facts(layer({name: b"ID=evil\n", "etc/hostname": b""}))
    assert facts.nodes == {} and facts.remarks == ("1 names that point outside the image were skipped",)


def test_absolute_names_lie_in_the_image() -> None:
    assert set(made.whole_facts(layer({"/etc/os-release": b"ID=x\n", ".//./etc/ld.so.cache": b""})).nodes) == {
        "etc/os-release",
        "etc/ld.so.cache",
    }


def test_links_never_lead_to_files_of_this_machine(tmp_path: Path) -> None:
    secret = tmp_path / "version.py"
    secret.write_text("__version__ = '9.9.9'\ncuda = '12.9'\n", "utf-8")
    files = made.base() | {
        f"{SITE}/torch/__init__.py": b"",
        f"{SITE}/torch/version.py": link("x", str(secret)),
        f"{SITE}/loop.pth": link("x", "loop.pth"),
        f"{SITE}/up.pth": link("x", "../../../../../../../../../.." + str(secret)),
        f"{SITE}/hard.pth": link("x", str(secret), tarfile.LNKTYPE),
    }
    for name, member in files.items():
        if isinstance(member, tarfile.TarInfo):
            member.name = name
    assert "9.9.9" not in repr(layers_snapshot(made.whole_facts(layer(files)), ""))


def test_devices_pipes_and_folders_with_the_names_of_files() -> None:
    files = dict(made.base())
    for kind, name in (
        (tarfile.CHRTYPE, "etc/ld.so.cache"),
        (tarfile.FIFOTYPE, f"{SITE}/torch/version.py"),
        (tarfile.BLKTYPE, f"{SITE}/torch/lib/libtorch_cuda.so"),
    ):
        files[name] = member = tarfile.TarInfo(name)
        member.type = kind
    files[f"{SITE}/torch/__init__.py"] = b""
    files["usr/lib/os-release"] = folder("usr/lib/os-release")
    snapshot = layers_snapshot(made.whole_facts(layer(files)), "")
    assert snapshot.python.patient.prefix == "/usr/local"
    assert not isinstance(snapshot.torch.libraries, tuple) or snapshot.torch.libraries == ()


def test_a_sparse_file_is_told_and_not_read() -> None:
    member = tarfile.TarInfo(f"{SITE}/torch/version.py")
    member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "900000000"}
    member.size = 5
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(member, io.BytesIO(b"1\n0\n5"))
    assert made.whole_facts(raw(out.getvalue())).remarks == ("1 sparse files were not read",)


@for_each(
    ("special", "words"),
    [
        ((b"x", 3 << 20), "a name or extended header has 3,145,728 bytes"),
        ((b"L", 1 << 40), "a name or extended header has 1,099,511,627,776 bytes"),
        ((b"0", 1 << 60), "a size that no file has"),
    ],
)
def test_headers_that_lie(special: tuple[bytes, int], words: str) -> None:
    member = tarfile.TarInfo("name")
    member.type, member.size = special
    data = member.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 16)
    assert words in str(failure(raw(data)))


def entries(data: bytes) -> list[tuple[str, str, int]]:
    """Name, kind and size of each, by the product's reader."""
    blob = Opened(raw(data))
    tar = TarStream(Unpacked(Download(blob.layers[0], blob, lambda count: None)))
    found = []
    while (member := tar.next()) is not None:
        found.append((member.name, member.kind, member.size))
    return found


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=300).filter(
    lambda name: not name.endswith("/")  # a folder to some readers, a file to others
)


@drawn(200)
@given(st.lists(st.tuples(NAMES, st.binary(max_size=700)), max_size=6), st.sampled_from([0, 1, 2]))
def test_the_same_entries_as_tarfile(files: list[tuple[str, bytes]], form: int) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            try:
                tar.addfile(member, io.BytesIO(content))
            except (ValueError, UnicodeError):  # ustar has no such names
                continue
    data = out.getvalue()
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        expected = [(m.name.rstrip("/"), m.isfile(), m.size) for m in tar]
    assert [(n.rstrip("/"), k == "file", size) for n, k, size in entries(data)] == expected


@drawn(200)
@given(st.integers(0, 2**32), st.integers(0, 60_000))
def test_damaged_or_cut_it_ends_in_one_line(seed: int, stop: int) -> None:
    random = Random(seed)
    data = bytearray(tar_of(SMALL | made.torch())[:stop])
    for _ in range(random.randrange(8)):
        if data:
            data[random.randrange(len(data))] = random.randrange(256)
    try:
        entries(bytes(data))
        layers_snapshot(made.whole_facts(raw(bytes(data))), "")
    except (ImageError, TarError) as error:
        assert "\n" not in str(error)


@pytest.mark.slow
def test_a_million_entries_take_bounded_memory(tmp_path: Path) -> None:
    header = bytearray(tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT))
    path = tmp_path / "layer.tar"
    with path.open("wb") as out:
        for number in range(1_000_000):
            name = b"%s/p%06d.dist-info/METADATA" % (SITE.encode(), number)
            header[: len(name)] = name
            header[148:156] = b" " * 8
            header[148:156] = b"%06o\0 " % sum(header)
            out.write(header)
        out.write(bytes(1024))
    code = (
        "import re,sys;from doctor.images.layer import Layer;from doctor.images.layers import scan\n"
        "peak=lambda: int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read()).group(1))\n"
        "start=peak()\n"
        "def pieces(layer,offset=0):\n"
        "    with open(sys.argv[1],'rb') as f:\n"
        "        f.seek(offset)\n"
        "        while p:=f.read(1<<20): yield p\n"
        "facts=scan([Layer('',-1,'','x')],pieces)\n"
        "print(peak()-start); print(facts.remarks)"
    )
    ended = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    grown_kib, remarks = ended.stdout.splitlines()
    assert int(grown_kib) < 64 << 10
    assert "only the first 100,000 relevant files were examined" in remarks


def test_texts_without_end_are_left_out() -> None:
    files = {f"{SITE}/nvidia_{n}-1.dist-info/METADATA": bytes(1 << 20) for n in range(30)}
    facts = made.whole_facts(layer(files, "zstd"))
    kept = sum(len(node.content.data) for node in facts.nodes.values() if node.content)  # type: ignore[attr-defined]
    assert kept <= 24 << 20
    assert facts.remarks == ("7 files were skipped: the files before them already take up 24 MiB",)


def test_libraries_that_are_nothing_but_strings_and_notes_keep_little() -> None:
    rows = [(4, n << 20, 1 << 20) for n in range(64)]
    header = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 1 << 20, 0, 64, 56, len(rows), 65535, 65535, 1)
    header += b"".join(struct.pack("<IIQQQQQQ", kind, 6, at, at, at, size, size, 8) for kind, at, size in rows)
    data = header.ljust(1 << 17, b"\0") + (b"/lib" + b"x" * 4000 + b"\0") * 16_000
    tracemalloc.start()
    try:
        read_library(forward(data, 1 << 18), (b"xxx",))
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()


def test_numbers_beyond_octal_are_read() -> None:
    member = tarfile.TarInfo("large")
    member.size = 9 << 30
    header = member.tobuf(tarfile.GNU_FORMAT)
    assert struct.unpack_from(">Q", header, 128)[0] == 9 << 30
    with pytest.raises(TarError, match="ends inside a file"):
        entries(header + bytes(512))
