"""torch read from its files: builds, architectures by bytes, what it links and what would be found for it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from doctor.snapshot import Missing, Snapshot

from .tree import Tree, fatbin

SITE = "/venv/lib/python3.11/site-packages"
LIB = f"{SITE}/torch/lib"
CFG = "home = /usr/bin\nversion = 3.11.9\n"
RPATH = "$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN"


def look(tree: Tree, env: dict[str, str] | None = None) -> Snapshot:
    return tree.look(env or {}, python="/venv")


@pytest.fixture
def venv(tree: Tree) -> Tree:
    return tree.python("/venv", cfg=CFG)


class Linker:
    """Makes shared libraries that need others, with gcc."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def library(self, soname: str, needs: tuple[str, ...] = (), *flags: str) -> bytes:
        stubs = []
        for need in needs:
            stub = self.folder / f"stub-{need}"
            self._gcc("-shared", "-nostdlib", f"-Wl,-soname,{need}", "-x", "c", "/dev/null", "-o", str(stub))
            stubs.append(str(stub))
        out = self.folder / "out.so"
        self._gcc(
            "-shared",
            "-nostdlib",
            "-Wl,--no-as-needed",
            f"-Wl,-soname,{soname}",
            "-x",
            "c",
            "/dev/null",
            "-x",
            "none",
            *stubs,
            *flags,
            "-o",
            str(out),
        )
        return out.read_bytes()

    def _gcc(self, *arguments: str) -> None:
        subprocess.run(["gcc", *arguments], check=True)


@pytest.fixture
def linker(tmp_path: Path) -> Linker:
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    folder = tmp_path / "link"
    folder.mkdir()
    return Linker(folder)


@pytest.mark.parametrize(
    ("text", "build", "cuda"),
    [
        ("__version__ = '2.6.0+cu124'\ncuda: Optional[str] = '12.4'\nhip = None\n", "cuda", "12.4"),
        (
            "__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\nhip = None\nxpu: Optional[str] = None\n",
            "cpu",
            None,
        ),
        ("__version__ = '2.6.0+rocm6.2'\ncuda = None\nhip = '6.2.41133'\n", "rocm", None),
        ("__version__ = '2.6.0+xpu'\ncuda = None\nhip = None\nxpu = '20250000'\n", "xpu", None),
    ],
)
def test_builds(venv: Tree, text: str, build: str, cuda: str | None) -> None:
    venv.torch(SITE).file(f"{SITE}/torch/version.py", text)
    torch = look(venv).torch
    assert torch.build == build
    assert torch.cuda == (cuda or Missing("absent"))
    if build != "cuda":
        assert isinstance(torch.sass, Missing) and torch.sass.reason == "absent"


def test_no_torch_is_absent_everywhere(venv: Tree) -> None:
    torch = look(venv).torch
    for name in torch.__struct_fields__:
        assert getattr(torch, name) == Missing("absent", "torch is not installed")


def test_garbled_version_file_leaves_the_metadata_to_speak(venv: Tree) -> None:
    torch = look(venv.torch(SITE, "2.6.0").file(f"{SITE}/torch/version.py", "???")).torch
    assert torch.version == "2.6.0"
    assert isinstance(torch.build, Missing) and torch.build.reason == "error"


def test_architectures_by_bytes(venv: Tree) -> None:
    venv.torch(SITE).file(f"{LIB}/libtorch_cuda.so", fatbin("multi_arch"))
    venv.file(f"{LIB}/libtorch_cuda_linalg.so", fatbin("uncompressed")).file(
        f"{LIB}/libtorch_nvshmem.so", fatbin("ptx_only")
    )
    torch = look(venv).torch
    assert torch.sass == ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
    assert torch.ptx == ("12.0",), "PTX of the linear algebra library or of nvshmem is not torch's"
    assert not isinstance(torch.libraries, Missing)
    by_name = {lib.path.rpartition("/")[2]: lib for lib in torch.libraries}
    assert by_name["libtorch_cuda_linalg.so"].sass == ("8.0", "9.0")
    assert by_name["libtorch_nvshmem.so"].ptx == ("8.0",)
    assert by_name["libtorch_cuda.so"].sections[0].containers == 3


def test_both_halves_of_a_split_build_must_hold_an_architecture(venv: Tree) -> None:
    venv.torch(SITE).file(f"{LIB}/libtorch_cuda_cu.so", fatbin("multi_arch")).file(
        f"{LIB}/libtorch_cuda_cpp.so", fatbin("padded")
    )
    assert look(venv).torch.sass == ("8.0", "9.0")


def test_special_kernels_are_not_support(venv: Tree) -> None:
    venv.torch(SITE).file(f"{LIB}/libtorch_cuda.so", fatbin("special_kernels"))
    torch = look(venv).torch
    assert torch.sass == ("8.0", "9.0")
    assert not isinstance(torch.libraries, Missing)
    assert set(torch.libraries[0].special_sass) == {"8.9", "9.0a", "10.0f"}


def test_cut_off_library_is_told_and_is_not_an_empty_list(venv: Tree) -> None:
    venv.torch(SITE).file(f"{LIB}/libtorch_cuda.so", fatbin("multi_arch")[:3000])
    torch = look(venv).torch
    assert isinstance(torch.sass, Missing) and torch.sass.reason == "error"
    assert "libtorch_cuda.so" in torch.sass.detail


def test_library_without_kernels_in_a_cuda_build(venv: Tree) -> None:
    venv.torch(SITE).file(f"{LIB}/libtorch_cuda.so", fatbin("no_device_code"))
    sass = look(venv).torch.sass
    assert isinstance(sass, Missing) and sass.reason == "absent"


def wheels(tree: Tree, linker: Linker, *flags: str) -> Tree:
    """A torch that needs cuDNN and cudart from nvidia wheels."""
    needs = ("libcudnn.so.9", "libcudart.so.12", "libc.so.6")
    tree.torch(SITE).file(
        f"{LIB}/libtorch_cuda.so", linker.library("libtorch_cuda.so", needs, f"-Wl,-rpath,{RPATH}", *flags)
    )
    tree.file(f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9", linker.library("libcudnn.so.9"))
    tree.distribution(SITE, "nvidia_cudnn_cu12", "9.1.0.70")
    return tree


def test_missing_library_of_the_wheels(venv: Tree, linker: Linker) -> None:
    torch = look(wheels(venv, linker)).torch
    assert torch.linked_libraries == ("libcudnn.so.9", "libcudart.so.12")
    assert torch.missing_libraries == ("libcudart.so.12",)
    assert (torch.cudnn_bundled, torch.cudnn_path) == ("9.1.0", f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9")
    venv.file(f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12", linker.library("libcudart.so.12"))
    assert look(venv).torch.missing_libraries == ()


def test_library_that_the_system_supplies_is_not_missing(venv: Tree, linker: Linker) -> None:
    wheels(venv, linker).file("/usr/lib/x86_64-linux-gnu/libcudart.so.12", linker.library("libcudart.so.12"))
    assert look(venv).torch.missing_libraries == ()


def test_the_drivers_own_library_is_never_a_missing_one(venv: Tree, linker: Linker) -> None:
    venv.torch(SITE).file(f"{LIB}/libtorch_cuda.so", linker.library("libtorch_cuda.so", ("libcuda.so.1",)))
    assert look(venv).torch.missing_libraries == ()


@pytest.mark.parametrize("flags", [("-Wl,--disable-new-dtags",), ("-Wl,--enable-new-dtags",)])
def test_cudnn_on_ld_library_path_shadows(venv: Tree, linker: Linker, flags: tuple[str, ...]) -> None:
    wheels(venv, linker, *flags).file("/opt/cudnn/lib/libcudnn.so.9.8.0", linker.library("libcudnn.so.9"))
    venv.link("/opt/cudnn/lib/libcudnn.so.9", "libcudnn.so.9.8.0")
    torch = look(venv, {"LD_LIBRARY_PATH": "/opt/cudnn/lib"}).torch
    assert torch.cudnn_shadow == "/opt/cudnn/lib/libcudnn.so.9"
    assert torch.cudnn_bundled == "9.1.0"
    assert look(venv, {"LD_LIBRARY_PATH": f"{SITE}/nvidia/cudnn/lib"}).torch.cudnn_shadow == Missing("absent")
    assert isinstance(venv.look(None, python="/venv").torch.cudnn_shadow, Missing)


def test_system_cudnn_alone_shadows_nothing(venv: Tree, linker: Linker) -> None:
    wheels(venv, linker)
    (venv.root / SITE.lstrip("/") / "nvidia/cudnn/lib/libcudnn.so.9").unlink()
    venv.file("/opt/cudnn/lib/libcudnn.so.9.8.0", linker.library("libcudnn.so.9"))
    venv.link("/opt/cudnn/lib/libcudnn.so.9", "libcudnn.so.9.8.0")
    torch = look(venv, {"LD_LIBRARY_PATH": "/opt/cudnn/lib"}).torch
    assert torch.cudnn_shadow == Missing("absent")
    assert torch.cudnn_bundled == "9.8.0"


def test_wheels_in_another_site_folder_are_found_as_torch_finds_them(venv: Tree, linker: Linker) -> None:
    wheels(venv, linker).file("/mine/nvidia/cuda_runtime/lib/libcudart.so.12", linker.library("libcudart.so.12"))
    assert look(venv).torch.missing_libraries == ("libcudart.so.12",)
    assert look(venv, {"PYTHONPATH": "/mine"}).torch.missing_libraries == ()


def test_extensions_with_gpu_code(venv: Tree) -> None:
    venv.file(f"{SITE}/bitsandbytes/libbitsandbytes_cuda124.so", fatbin("nvcc_plain")).distribution(
        SITE, "bitsandbytes", "0.45"
    )
    venv.file(f"{SITE}/bitsandbytes/libbitsandbytes_cpu.so", fatbin("no_device_code")).file(
        f"{SITE}/bitsandbytes/readme.txt"
    )
    venv.file(f"{SITE}/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so", fatbin("padded"))
    venv.file(f"{SITE}/xformers/_C.so", fatbin("multi_arch")[:5000]).file(f"{SITE}/unknown/x.so", fatbin("padded"))
    python = look(venv).python
    assert not isinstance(python.extensions, Missing)
    found = {lib.path.removeprefix(SITE + "/").split(".")[0]: lib for lib in python.extensions}
    assert {name: (lib.package, lib.sass, lib.ptx) for name, lib in found.items() if not lib.problem} == {
        "bitsandbytes/libbitsandbytes_cuda124": ("bitsandbytes", ("8.0", "9.0"), ("9.0",)),
        "flash_attn_2_cuda": ("flash-attn", ("8.0", "9.0"), ()),
    }
    assert found["xformers/_C"].problem


def test_extensions_are_not_asked_where_the_caller_leaves_them_out(venv: Tree) -> None:
    venv.file(f"{SITE}/bitsandbytes/libbitsandbytes_cuda124.so", fatbin("nvcc_plain"))
    python = venv.look({}, python="/venv", scan_extensions=False).python
    assert python.extensions == Missing("not-asked")
