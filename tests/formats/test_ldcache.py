"""The loader cache, made by this machine's ldconfig and compared with what ldconfig prints."""

from __future__ import annotations

import platform
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.formats.ldcache import parse_ldcache, read_ldcache

from ..drawn import drawn

LDCONFIG = shutil.which("ldconfig", path="/sbin:/usr/sbin:/bin:/usr/bin")
MACHINE = platform.machine()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of two libraries of our own, one of them in two folders."""
    if LDCONFIG is None:
        pytest.skip("no ldconfig on this system (musl?)")
    folder = tmp_path_factory.mktemp("cache")
    (folder / "a.c").write_text("int a;\n")
    for place, name in (("one", "libgd.so.1"), ("two", "libgd.so.1"), ("two", "libother.so.2")):
        (folder / place).mkdir(exist_ok=True)
        subprocess.run(
            ["gcc", "-shared", f"-Wl,-soname,{name}", "-o", folder / place / name, folder / "a.c"], check=True
        )
    (folder / "conf").write_text(f"{folder / 'one'}\n{folder / 'two'}\n")
    subprocess.run([LDCONFIG, "-X", "-f", folder / "conf", "-C", folder / "cache"], check=True, capture_output=True)
    return folder


def test_a_cache_of_our_own(made: Path) -> None:
    cache = read_ldcache(str(made / "cache"), MACHINE)
    assert cache.problem == ""
    assert cache.libraries["libgd.so.1"] == (f"{made}/one/libgd.so.1", f"{made}/two/libgd.so.1")
    assert cache.libraries["libother.so.2"] == (f"{made}/two/libother.so.2",)


def test_the_cache_is_the_one_ldconfig_prints(made: Path) -> None:
    assert LDCONFIG is not None
    text = subprocess.run([LDCONFIG, "-C", made / "cache", "-p"], capture_output=True, text=True, check=True).stdout
    printed = set(re.findall(r"^\t(\S+) \(.*\) => (\S+)$", text, re.MULTILINE))
    found = read_ldcache(str(made / "cache"), MACHINE).libraries
    assert {(name, path) for name, paths in found.items() for path in paths} == printed
    assert len(printed) >= 3


def test_libraries_of_other_machines_are_left_out(made: Path) -> None:
    other = "aarch64" if MACHINE == "x86_64" else "x86_64"
    assert read_ldcache(str(made / "cache"), other).libraries == {}
    assert "no known" in read_ldcache(str(made / "cache"), "vax").problem


def old_format(flags: int, tail: bytes = b"") -> bytes:
    strings = b"libcuda.so.1\0/usr/lib/libcuda.so.1\0"
    return b"ld.so-1.7.0\0" + struct.pack("<I", 1) + struct.pack("<III", flags, 0, 13) + (tail or strings)


def test_the_format_of_before_2_32() -> None:
    assert parse_ldcache(old_format(0x0303), "x86_64").libraries == {"libcuda.so.1": ("/usr/lib/libcuda.so.1",)}
    assert parse_ldcache(old_format(0x0A03), "x86_64").libraries == {}


def test_the_new_format_behind_the_old_one(made: Path) -> None:
    new = (made / "cache").read_bytes()
    old = b"ld.so-1.7.0\0" + struct.pack("<I", 2) + bytes(24)
    found = parse_ldcache(old + new, MACHINE)
    assert found.libraries and found == parse_ldcache(new, MACHINE)


@pytest.mark.slow
def test_damage(made: Path) -> None:
    data = (made / "cache").read_bytes()
    for size in range(0, len(data), 8):
        cut = parse_ldcache(data[:size], MACHINE)
        assert size >= 120 or cut.problem
    assert parse_ldcache(b"x" * 100, MACHINE).problem == "not a loader cache"


@drawn(200)
@given(st.data())
def test_flipped_bytes_are_survived(made: Path, data: st.DataObject) -> None:
    changed = bytearray((made / "cache").read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    parse_ldcache(bytes(changed), MACHINE)
