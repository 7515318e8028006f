"""What companions link, the C++ ABI of torch, tags of wheels, the C compiler and Python.h: read from real files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from doctor.snapshot import Distribution, Missing, Snapshot

from .test_torch_files import SITE, Linker
from .tree import Tree

CFG = "home = /usr/bin\nversion = 3.11.9\n"


def look(tree: Tree, **env: str) -> Snapshot:
    return tree.look(env, python="/venv")


@pytest.fixture
def venv(tree: Tree) -> Tree:
    return tree.python("/venv", cfg=CFG).torch(SITE)


@pytest.fixture
def linker(tmp_path: Path) -> Linker:
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    folder = tmp_path / "link"
    folder.mkdir()
    return Linker(folder)


def padded(data: bytes) -> bytes:
    """Real companions are never tiny; smaller files are not looked at."""
    return data + b"\0" * max(0, 8192 - len(data))


def test_a_companion_without_gpu_code_is_told_with_what_it_links(venv: Tree, linker: Linker) -> None:
    library = linker.library("_C.so", ("libtorch_cpu.so", "libc10.so", "libc.so.6"))
    venv.file(f"{SITE}/torchvision/_C.so", padded(library)).file(f"{SITE}/natten/libnatten.so", padded(library))
    found = look(venv).python.extensions
    assert not isinstance(found, Missing)
    assert [(lib.package, lib.needed, lib.sections) for lib in found] == [
        ("torchvision", ("libtorch_cpu.so", "libc10.so"), ())
    ]


@pytest.mark.parametrize(
    ("text", "abi"),
    [
        ('set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=0")\n', False),
        ('  set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=1")\n', True),
        ("set(TORCH_LIBRARIES torch)\n", None),
        (None, None),
    ],
)
def test_cxx11_abi(venv: Tree, text: str | None, abi: bool | None) -> None:
    if text is not None:
        venv.file(f"{SITE}/torch/share/cmake/Torch/TorchConfig.cmake", text)
    told = look(venv).torch.cxx11_abi
    assert (told.reason if isinstance(told, Missing) else told) == ("absent" if abi is None else abi)


@pytest.mark.parametrize(
    ("url", "wheel"),
    [
        (
            "https://host/flash_attn-2.8.3%2Bcu12torch2.8cxx11abiTRUE-cp311-cp311-linux_x86_64.whl#sha256=ab",
            "flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp311-cp311-linux_x86_64.whl",
        ),
        ("https://user:secret@host/simple/x-1.0-py3-none-any.whl?token=secret", "x-1.0-py3-none-any.whl"),
        ("https://host/x-1.0.tar.gz", ""),
        ("file:///home/me/src", ""),
    ],
)
def test_the_wheel_that_was_installed_by_address(venv: Tree, url: str, wheel: str) -> None:
    venv.distribution(SITE, "flash_attn", "2.8.3").file(
        f"{SITE}/flash_attn-2.8.3.dist-info/direct_url.json", f'{{"url": "{url}", "archive_info": {{}}}}'
    )
    found = look(venv).python.distribution("flash-attn")
    assert isinstance(found, Distribution) and found.wheel == wheel


def test_the_c_compiler_by_cc_then_gcc_then_clang(venv: Tree) -> None:
    assert look(venv, PATH="/usr/bin:/opt/bin").cuda.c_compiler is None
    venv.file("/opt/bin/clang")
    assert look(venv, PATH="/usr/bin:/opt/bin").cuda.c_compiler == "/opt/bin/clang"
    venv.file("/usr/bin/gcc")
    assert look(venv, PATH="/usr/bin:/opt/bin").cuda.c_compiler == "/usr/bin/gcc"
    assert look(venv, PATH="/usr/bin:/opt/bin", CC="clang").cuda.c_compiler == "/opt/bin/clang"
    assert look(venv, PATH="/usr/bin", CC="/nowhere/cc").cuda.c_compiler is None
    assert isinstance(venv.look(None, python="/venv").cuda.c_compiler, Missing), "PATH is not known"


def test_headers_lie_beside_the_interpreter_that_the_link_leads_to(tree: Tree) -> None:
    tree.python("/usr").file("/usr/lib/python3.11/os.py")
    tree.file("/venv/pyvenv.cfg", CFG).link("/venv/bin/python3", "/usr/bin/python3.11")
    tree.folder("/venv/lib/python3.11/site-packages")
    assert tree.look({}, python="/venv/bin/python3").python.patient.headers is False
    tree.file("/usr/include/python3.11/Python.h")
    assert tree.look({}, python="/venv/bin/python3").python.patient.headers is True


def test_ensurepip_of_the_base_and_uv_on_the_path(tree: Tree) -> None:
    tree.python("/usr").file("/usr/lib/python3.11/os.py")
    tree.file("/venv/pyvenv.cfg", CFG).link("/venv/bin/python3", "/usr/bin/python3.11")
    tree.folder("/venv/lib/python3.11/site-packages")
    python = tree.look({"PATH": "/usr/bin:/opt/bin"}, python="/venv/bin/python3").python
    assert (python.patient.ensurepip, python.uv) == (False, False)
    tree.file("/usr/lib/python3.11/ensurepip/__init__.py").file("/opt/bin/uv")
    python = tree.look({"PATH": "/usr/bin:/opt/bin"}, python="/venv/bin/python3").python
    assert (python.patient.ensurepip, python.uv) == (True, True)
    assert isinstance(tree.look(None, python="/venv").python.uv, Missing), "PATH is not known"


def test_this_python_has_the_headers_that_it_says() -> None:
    import sys
    import sysconfig

    from doctor.probes.collect import Options, collect

    said = (Path(sysconfig.get_path("include")) / "Python.h").is_file()
    patient = collect(Options(python=sys.executable, import_torch=False, ask_driver=False)).python.patient
    assert patient.headers == said


def _shared(folder: Path, name: str, source: str) -> bytes:
    """A library made of C whose functions have the C++ names that the source gives them."""
    out = folder / name
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", out], input=source, text=True, check=True)
    return padded(out.read_bytes())


def _declares(*names: str) -> str:
    calls = "".join(f'extern void f{n}(void) __asm__("{name}");\n' for n, name in enumerate(names))
    return calls + "void enter(void) {" + "".join(f" f{n}();" for n in range(len(names))) + " }\n"


def _defines(*names: str) -> str:
    return "".join(f'void f{n}(void) __asm__("{name}");\nvoid f{n}(void) {{}}\n' for n, name in enumerate(names))


ERROR, EMPTY, STREAM = (
    "_ZN3c105ErrorC2ENS_14SourceLocationESs",
    "_ZN2at5emptyEv",
    "_ZN3c104cuda20getCurrentCUDAStreamEa",
)


def callers_of(venv: Tree, *libraries: tuple[str, bytes]) -> list[tuple[object, ...]] | str:
    for path, data in libraries:
        venv.file(f"{SITE}/{path}", data)
    found = look(venv).torch.callers
    if isinstance(found, Missing):
        return found.reason
    return [(one.path.rpartition("/")[2], one.package, one.symbols, one.missing, one.missing_count) for one in found]


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_functions_of_torch_that_an_extension_calls_and_this_torch_lacks(venv: Tree, tmp_path: Path) -> None:
    caller = _shared(tmp_path, "c.so", _declares(ERROR, EMPTY, STREAM, "_ZN10torchvision3nmsEv", "printf"))
    sound = _shared(tmp_path, "s.so", _declares(EMPTY))
    assert callers_of(venv, ("torchvision/_C.so", caller)) == "absent", "torch's own libraries are not in torch/lib"
    venv.file(f"{SITE}/torch/lib/libc10.so", _shared(tmp_path, "libc10.so", _defines("_ZN3c105ErrorC2ENS_14Other")))
    assert callers_of(venv) == "absent"
    venv.file(f"{SITE}/torch/lib/libtorch_cpu.so", _shared(tmp_path, "libtorch_cpu.so", _defines(EMPTY)))
    rows = [("_C.so", "torchvision", 3, (STREAM, ERROR), 2), ("image.so", "torchvision", 1, (), 0)]
    assert callers_of(venv, ("torchvision/image.so", sound)) == rows
    # What another library of the package defines is found there.
    beside = _shared(tmp_path, "b.so", _defines(STREAM))
    assert callers_of(venv, ("torchvision/libown.so", beside))[0] == ("_C.so", "torchvision", 3, (ERROR,), 1)


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_a_library_of_torch_that_cannot_be_read_leaves_it_open(venv: Tree, tmp_path: Path) -> None:
    """A function that nobody could look for is not called missing."""
    venv.file(f"{SITE}/torch/lib/libc10.so", _shared(tmp_path, "libc10.so", _defines(ERROR)))
    venv.file(f"{SITE}/torch/lib/libtorch_cpu.so", b"version https://git-lfs.github.com/spec/v1\n")
    caller = _shared(tmp_path, "c.so", _declares(ERROR, EMPTY))
    assert callers_of(venv, ("torchvision/_C.so", caller)) == "absent"
