"""ELF headers, checked against libraries that gcc makes here and against what readelf says of them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.formats.elf import Elf, ElfError, parse_elf
from doctor.formats.elf_dynamic import read_dynamic
from doctor.formats.elf_symbols import Symbols, unresolved
from doctor.formats.reader import FileReader
from tests.readers import bytes_reader

from ..drawn import drawn
from ..rows import for_each

C_SOURCE = """
#include <math.h>
#include <string.h>
int gd_answer(int x) { return x + 1; }
double gd_root(double x) { return sqrt(x) + strlen("x"); }
static int gd_hidden(void) { return 2; }
int (*gd_pointer)(void) = gd_hidden;
extern int gd_from_elsewhere(void);
int gd_caller(void) { return gd_from_elsewhere(); }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("elf")
    (out / "a.c").write_text(C_SOURCE)
    styles = {"gnu": "-Wl,--hash-style=gnu,--enable-new-dtags", "sysv": "-Wl,--hash-style=sysv,--disable-new-dtags"}
    common = ("gcc", "-shared", "-fPIC", "-fno-builtin", "-Wl,-soname,libgd.so.3", "-Wl,-rpath,$ORIGIN/../x:/opt/y")
    for style, flag in styles.items():
        subprocess.run([*common, flag, "-o", out / f"{style}.so", out / "a.c", "-lm"], check=True)
    return out


def elf_of(path: Path) -> Elf:
    return parse_elf(bytes_reader(path.read_bytes()))


def test_sections_are_those_readelf_lists(folder: Path) -> None:
    text = subprocess.run(["readelf", "-SW", folder / "gnu.so"], capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^ +\[ *\d+\] (\S+) +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", text, re.MULTILINE)
    found = {s.name: (s.offset, s.size) for s in elf_of(folder / "gnu.so").sections if s.name}
    assert found == {name: (int(offset, 16), int(size, 16)) for name, offset, size in listed}
    assert len(found) > 20


@for_each("style", ["gnu", "sysv"])
def test_the_dynamic_section(folder: Path, style: str) -> None:
    dynamic = read_dynamic(elf_of(folder / f"{style}.so"))
    assert dynamic is not None
    assert dynamic.soname == "libgd.so.3"
    assert dynamic.needed == ("libm.so.6", "libc.so.6")
    paths = ("$ORIGIN/../x", "/opt/y")
    assert (dynamic.rpath, dynamic.runpath) == (((), paths) if style == "gnu" else (paths, ()))


def test_a_program_without_sections_still_has_its_segments(folder: Path) -> None:
    data = bytearray((folder / "gnu.so").read_bytes())
    data[40:48] = bytes(8)  # e_shoff: as packers and some strippers leave it
    elf = parse_elf(bytes_reader(bytes(data)))
    assert elf.sections == ()
    dynamic = read_dynamic(elf)
    assert dynamic is not None and dynamic.soname == "libgd.so.3"


HEAD = b"\x7fELF\x02\x01\x01" + bytes(57)


@for_each(
    ("data", "message"),
    [
        (b"", "not an ELF"),
        (b"MZ" + bytes(100), "not an ELF"),
        (b"version https://git-lfs.github.com/spec/v1\n" * 3, "not an ELF"),
        (HEAD[:40], "cut off"),
        (HEAD[:5] + b"\x02" + HEAD[6:], "big-endian"),
        (HEAD[:4] + b"\x07" + HEAD[5:], "word size"),
        (HEAD[:40] + (64).to_bytes(8, "little") + HEAD[48:], "rows of 0 bytes"),
        (HEAD[:40] + (64).to_bytes(8, "little") + HEAD[48:58] + b"\x40\x00\x09\x00\x00\x00", "cut off"),
    ],
)
def test_what_is_not_elf_is_one_error(data: bytes, message: str) -> None:
    with pytest.raises(ElfError, match=message):
        parse_elf(bytes_reader(data))


def test_a_32_bit_header_is_read() -> None:
    head = b"\x7fELF\x01\x01\x01" + bytes(9) + (3).to_bytes(2, "little") + (40).to_bytes(2, "little") + bytes(32)
    elf = parse_elf(bytes_reader(head))
    assert (elf.bits, elf.machine, elf.type) == (32, "arm", "shared")


@drawn(400)
@given(st.data())
def test_flipped_bytes_give_a_result_or_an_elf_error(folder: Path, data: st.DataObject) -> None:
    original = (folder / data.draw(st.sampled_from(["gnu.so", "sysv.so"]))).read_bytes()
    changed = bytearray(original)
    for _ in range(data.draw(st.integers(1, 6))):
        place = st.one_of(
            st.integers(0, 2047),
            st.integers(0, len(original) - 1),
            st.integers(len(original) - 2048, len(original) - 1),
        )
        changed[data.draw(place)] = data.draw(st.integers(0, 255))
    try:
        elf = parse_elf(bytes_reader(bytes(changed)))
        read_dynamic(elf)
    except ElfError as error:
        assert "\n" not in str(error)


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "libpipe.so")
    for path in (tmp_path / "libpipe.so", tmp_path, tmp_path / "absent.so", Path("/dev/null")):
        with pytest.raises(OSError):
            FileReader(str(path))


SYMBOLS = """
extern int gd_{n}(void);
int gd_call_{n}(void) {{ return gd_{n}(); }}
"""


@for_each("style", ["gnu", "sysv", "both"])
def test_symbols_are_looked_up_as_the_loader_does(tmp_path: Path, style: str) -> None:
    """Of 300 functions half are defined; names that share a bucket or a prefix are told apart."""
    (tmp_path / "user.c").write_text("".join(SYMBOLS.format(n=n) for n in range(300)))
    weak = "extern int gd_weak(void) __attribute__((weak)); int gd_asks(void) { return gd_weak ? gd_weak() : 0; }\n"
    (tmp_path / "user.c").open("a").write(weak)
    (tmp_path / "has.c").write_text("".join(f"int gd_{n}(void) {{ return {n}; }}\n" for n in range(0, 300, 2)))
    for name in ("user", "has"):
        common = ("gcc", "-shared", "-fPIC", f"-Wl,--hash-style={style}", "-o", tmp_path / f"{name}.so")
        subprocess.run([*common, tmp_path / f"{name}.c"], check=True)
    user, has = (Symbols(elf_of(tmp_path / f"{name}.so")) for name in ("user", "has"))
    wanted = user.undefined(re.compile(rb"gd_"))
    assert sorted(wanted) == sorted(f"gd_{n}" for n in range(300)), "without the weak one, which may stay 0"
    assert set(unresolved(wanted, [has])) == {f"gd_{n}" for n in range(1, 300, 2)}
    assert unresolved(wanted, []) == wanted and has.defined(["gd_4", "gd_", "gd_44444", "printf"]) == {"gd_4"}


@drawn(400)
@given(st.data())
def test_flipped_bytes_in_symbol_tables_give_a_result_or_an_elf_error(folder: Path, data: st.DataObject) -> None:
    original = (folder / data.draw(st.sampled_from(["gnu.so", "sysv.so"]))).read_bytes()
    changed = bytearray(original)
    for _ in range(data.draw(st.integers(1, 6))):
        changed[data.draw(st.integers(512, 4095))] = data.draw(st.integers(0, 255))
    try:
        symbols = Symbols(parse_elf(bytes_reader(bytes(changed))))
        symbols.undefined(re.compile(rb"gd_"))
        symbols.defined(["gd_answer", "gd_from_elsewhere", "sqrt"])
    except ElfError as error:
        assert "\n" not in str(error)
