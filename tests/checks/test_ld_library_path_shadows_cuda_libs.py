"""A toolkit folder on LD_LIBRARY_PATH: guilty, worth a warning, or harmless."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.patient.packages import _preloads
from doctor.resolve.changed_torch import build_named, with_torch
from doctor.snapshot import NOT_ASKED, LoaderLibrary, Missing, Snapshot, known

from ..healthy import healthy
from ..judging import assert_fix_works, ids, matrix, run
from ..rows import for_each
from ..torches import SITE, import_fails, not_asked

ID = "torch-import-broken"
NVJITLINK = (
    f"ImportError: {SITE}/torch/lib/../../nvidia/cusparse/lib/libcusparse.so.12: undefined symbol: "
    "__nvJitLinkAddData_12_1, version libnvJitLink.so.12"
)


def nvjitlink_on_the_path(s: Snapshot) -> Snapshot:
    """A toolkit's older libnvJitLink on LD_LIBRARY_PATH."""
    folder = "/usr/local/cuda-12.1/lib64"
    item = LoaderLibrary(
        name="libnvJitLink",
        soname="libnvJitLink.so.12",
        path=f"{folder}/libnvJitLink.so.12",
        version="12.1.105",
        found_by="LD_LIBRARY_PATH",
    )
    return s.replace({"cuda.libraries": (item,), "cuda.ld_library_path": (folder,)})


def test_an_older_nvjitlink_on_the_path_is_the_cause() -> None:
    sick = import_fails(nvjitlink_on_the_path(healthy()), NVJITLINK)
    assert ids(sick) == ["ld-library-path-shadows-cuda-libs", ID]
    finding = run("ld-library-path-shadows-cuda-libs", sick)[2][0]
    assert finding.fixes[0].steps[0].command == "unset LD_LIBRARY_PATH"
    assert_fix_works(sick, finding)


def test_an_older_nvjitlink_on_the_path_is_a_warning_where_nobody_knows_what_torch_loads() -> None:
    s = not_asked(nvjitlink_on_the_path(healthy())).replace({"torch.version": "2.8.0a0+gitabcdef"})
    assert "ld-library-path-shadows-cuda-libs" in ids(s, status="warn")


OLD = """
def _preload_cuda_deps(lib_folder, lib_name):
    pass

def _load_global_deps():
    try:
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    except OSError as err:
        cuda_libs = {"nvjitlink": "libnvJitLink.so.*[0-9]"}
        for lib_folder, lib_name in cuda_libs.items():
            _preload_cuda_deps(lib_folder, lib_name)
"""
"""The form of torch/__init__.py up to 2.5.1: its own libraries only where the loader finds none."""
NEW = OLD.replace("RTLD_GLOBAL)", 'RTLD_GLOBAL)\n        _preload_cuda_deps("nvjitlink", "libnvJitLink.so.*[0-9]")', 1)
WHOLE = """
def _preload_cuda_deps(err=None):
    cuda_libs = [("cublas", "libcublas.so.*[0-9]"), ("nvjitlink", "libnvJitLink.so.*[0-9]")]

def _load_global_deps():
    try:
        ctypes.CDLL(path)
        _preload_cuda_deps()
    except OSError as err:
        _preload_cuda_deps(err)
"""
"""From 2.10.0: a call without a name loads all of the table."""
NEWEST = WHOLE.replace("(err=None)", "(err=None, required=True)").replace("_deps()", "_deps(required=False)")
"""From 2.14.0: what is not installed is passed over."""


@for_each(
    ("text", "preloads", "status"),
    [(OLD, [], "fail"), (NEW, ["libnvJitLink"], "pass"), (WHOLE, ["libcublas", "libnvJitLink"], "pass"),
     (NEWEST, ["libcublas", "libnvJitLink"], "pass")],
)  # fmt: skip
def test_what_torch_loads_first_decides_before_the_import(text: str, preloads: list[str], status: str) -> None:
    """nvJitLink 12.1 on LD_LIBRARY_PATH: torch 2.5.1 fails to import, 2.6.0 loads its own first."""
    assert _preloads(text) == preloads
    s = not_asked(nvjitlink_on_the_path(healthy())).replace({"torch.preloads": tuple(preloads)})
    assert run("ld-library-path-shadows-cuda-libs", s)[0] == status
    if status == "fail":
        assert_fix_works(s, run("ld-library-path-shadows-cuda-libs", s)[2][0])


def test_a_library_on_the_path_that_torch_did_not_load_is_harmless() -> None:
    loaded = (f"{SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12",)
    assert ids(nvjitlink_on_the_path(healthy()).replace({"torch_run.libraries_loaded": loaded})) == []


def test_a_newer_library_on_the_path_is_harmless() -> None:
    well = nvjitlink_on_the_path(healthy())
    newer = tuple(replace(item, version="12.9.86") for item in known(well.cuda.libraries) or ())
    assert ids(not_asked(well).replace({"cuda.libraries": newer})) == []


def test_the_loaders_view_unknown() -> None:
    assert (
        run("ld-library-path-shadows-cuda-libs", healthy().replace({"cuda.libraries": Missing("error")}))[0]
        == "unknown"
    )


def test_what_the_import_names_is_guilty_where_it_is_older_or_of_no_known_version() -> None:
    """A failed import names libnvJitLink: a newer one on the path has every symbol, one of no known version may not."""
    check = "ld-library-path-shadows-cuda-libs"
    sick = import_fails(nvjitlink_on_the_path(healthy()), NVJITLINK)
    item = (known(sick.cuda.libraries) or ())[0]
    for version, status in (("12.1.105", "fail"), (Missing("error"), "fail"), ("12.9.86", "pass")):
        assert run(check, sick.replace({"cuda.libraries": (replace(item, version=version),)}))[0] == status, version


@for_each(
    ("version", "status"),
    [
        ("2.5.1+cu124", "fail"),
        ("2.4.1+cu121", "fail"),
        ("2.6.0+cu124", "pass"),
        ("2.8.0+cu128", "pass"),
        ("2.8.0a0+gitabcdef", "warn"),
    ],
)
def test_a_torch_whose_start_was_not_read_is_judged_by_its_release(version: str, status: str) -> None:
    """Its rows: 2.6.0 is the first that loads nvJitLink from its own wheel before anything asks for it."""
    s = not_asked(nvjitlink_on_the_path(healthy())).replace({"torch.preloads": NOT_ASKED, "torch.version": version})
    assert run("ld-library-path-shadows-cuda-libs", s)[0] == status


def test_another_release_is_judged_anew() -> None:
    """What the installed torch loads says nothing about the one that a fix or what-if puts in its place."""
    s = not_asked(nvjitlink_on_the_path(healthy())).replace({"torch.preloads": ("libnvJitLink",)})
    for version, wanted in (("2.5.1", ()), ("2.6.0", ("libnvJitLink", "libnvrtc"))):
        after = s.replace(with_torch(s, matrix(), build_named(matrix(), version, "linux_x86_64")))
        assert known(after.torch.preloads) is None
        assert matrix().torch_preloads(known(after.torch.version) or "") == wanted
