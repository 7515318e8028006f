"""CUDA on disk: toolkits, the nvcc a build would use, gcc, and the loader's libraries."""

from __future__ import annotations

import pytest

from doctor.snapshot import Missing, Toolkit

from .tree import Tree

JSON = '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, "cuda_nvcc": {"name": "CUDA NVCC", "version": "12.4.131"}}'
HEADER = "/* words */\n#ifndef X\n#define CUDA_VERSION 13000\n#endif\n"


def test_toolkit_by_its_version_file(tree: Tree) -> None:
    tree.file("/usr/local/cuda-12.4/version.json", JSON).file("/usr/local/cuda-12.4/bin/nvcc", "\x7fELF")
    tree.link("/usr/local/cuda", "/usr/local/cuda-12.4")
    cuda = tree.look({"PATH": "/usr/local/cuda/bin:/usr/bin"}).cuda
    assert cuda.toolkits == (Toolkit(path="/usr/local/cuda", version="12.4.1", nvcc="12.4.131"),)
    assert (cuda.nvcc_on_path, cuda.nvcc_version, cuda.cuda_home) == ("/usr/local/cuda/bin/nvcc", "12.4.131", None)


def test_toolkit_by_its_header(tree: Tree) -> None:
    tree.file("/usr/local/cuda-13.0/include/cuda.h", HEADER).file("/usr/local/cuda-13.0/bin/nvcc", "\x7fELF")
    assert tree.look({}).cuda.toolkits == (Toolkit(path="/usr/local/cuda-13.0", version="13.0", nvcc="13.0"),)


def test_toolkit_by_an_old_version_text(tree: Tree) -> None:
    tree.file("/usr/local/cuda-10.2/version.txt", "CUDA Version 10.2.89\n").folder("/usr/local/cuda-10.2/lib64")
    kits = tree.look({}).cuda.toolkits
    assert not isinstance(kits, Missing)
    assert kits[0].version == "10.2.89" and isinstance(kits[0].nvcc, Missing)


def test_cuda_home_comes_before_path(tree: Tree) -> None:
    tree.file("/opt/cuda-11.8/version.json", JSON.replace("12.4", "11.8")).file("/opt/cuda-11.8/bin/nvcc", "\x7fELF")
    tree.file("/usr/local/cuda-12.4/version.json", JSON).file("/usr/local/cuda-12.4/bin/nvcc", "\x7fELF")
    cuda = tree.look({"CUDA_HOME": "/opt/cuda-11.8", "PATH": "/usr/local/cuda-12.4/bin"}).cuda
    assert (cuda.cuda_home, cuda.nvcc_version, cuda.nvcc_on_path) == (
        "/opt/cuda-11.8",
        "11.8.131",
        "/usr/local/cuda-12.4/bin/nvcc",
    )


def test_cuda_home_without_nvcc(tree: Tree) -> None:
    version = tree.folder("/usr").look({"CUDA_HOME": "/usr/local/cuda-12.9"}).cuda.nvcc_version
    assert version == Missing("absent", "CUDA_HOME has no bin/nvcc")


def test_nvcc_that_is_a_script_in_front_of_the_real_one(tree: Tree) -> None:
    tree.file("/usr/local/bin/nvcc", '#!/bin/sh\nexec /srv/cuda/bin/nvcc "$@"\n').file(
        "/srv/cuda/include/cuda.h", HEADER
    )
    tree.file("/srv/cuda/bin/nvcc", "\x7fELF")
    assert tree.look({"PATH": "/usr/local/bin"}).cuda.nvcc_version == "13.0"


def test_nothing_installed_is_an_answer(tree: Tree) -> None:
    cuda = tree.folder("/usr").look({"PATH": "/usr/bin"}).cuda
    assert (cuda.toolkits, cuda.nvcc_on_path, cuda.libraries) == ((), None, ())
    assert cuda.nvcc_version == Missing("absent", "no nvcc")
    assert isinstance(tree.look(None).cuda.nvcc_on_path, Missing), "PATH of a root folder is not known"


@pytest.mark.parametrize(("target", "expected"), [("gcc-13", "13"), (None, "11")])
def test_gcc_version(tree: Tree, target: str | None, expected: str) -> None:
    for version in ("9", "11"):
        tree.folder(f"/usr/lib/gcc/x86_64-linux-gnu/{version}")
    if target:
        tree.link("/usr/bin/gcc", target)
    else:
        tree.file("/usr/bin/gcc", "\x7fELF")
    assert tree.look({}).cuda.gcc_version == expected


def test_no_gcc_though_its_library_folder_is_there(tree: Tree) -> None:
    version = tree.folder("/usr/lib/gcc/x86_64-linux-gnu/12").look({}).cuda.gcc_version
    assert isinstance(version, Missing) and version.reason == "absent"


def test_libraries_that_the_loader_would_take(tree: Tree) -> None:
    tree.file("/opt/cudnn/libcudnn.so.9.10.2", "x").link("/opt/cudnn/libcudnn.so.9", "libcudnn.so.9.10.2")
    tree.link("/opt/cudnn/libcudnn.so", "libcudnn.so.9").file("/opt/cudnn/libother.so.1", "x")
    tree.file("/usr/lib/x86_64-linux-gnu/libnvJitLink.so.12.8.93", "x")
    tree.link("/usr/lib/x86_64-linux-gnu/libnvJitLink.so.12", "libnvJitLink.so.12.8.93")
    tree.file("/usr/lib/x86_64-linux-gnu/libcudnn.so.9", "x")
    libraries = tree.look({"LD_LIBRARY_PATH": "/opt/cudnn"}).cuda.libraries
    assert not isinstance(libraries, Missing)
    assert [(lib.name, lib.soname, lib.version, lib.found_by) for lib in libraries] == [
        ("libcudnn", "libcudnn.so.9", "9.10.2", "LD_LIBRARY_PATH"),
        ("libnvJitLink", "libnvJitLink.so.12", "12.8.93", "default"),
    ]
