"""Which libcuda loads where an image brings cuda-compat: the newer one, by its file name or by its CUDA."""

from __future__ import annotations

from doctor.judge.preflight import with_compat
from doctor.snapshot import NOT_ASKED, CompatLibrary, Missing

from ..healthy import healthy
from ..judging import matrix
from ..rows import for_each

PATH = "/usr/local/cuda/compat/libcuda.so.1"


@for_each(
    ("version", "cuda", "loads", "wins"),
    [
        ("580.82.07", "13.0", NOT_ASKED, True),
        ("580.82.07", NOT_ASKED, NOT_ASKED, True),
        (Missing("error"), "13.0", NOT_ASKED, True),  # its branch, by the CUDA that it is for
        (Missing("error"), NOT_ASKED, NOT_ASKED, False),
        (Missing("error"), "99.9", NOT_ASKED, False),
        ("550.54.14", "12.4", NOT_ASKED, False),  # as old as the host's
        ("535.54.03", "12.2", NOT_ASKED, False),
        ("580.82.07", "13.0", False, False),  # the loader was seen to take another
    ],
)
def test_the_newer_libcuda_loads(version: object, cuda: object, loads: object, wins: bool) -> None:
    library = CompatLibrary(path=PATH, version=version, cuda_version=cuda, loads=loads)  # type: ignore[arg-type]
    s = healthy(container=True, driver="550.163.01", cuda="12.4").replace({"container.compat": (library,)})
    after = with_compat(s, matrix())
    assert (after.driver.libcuda_path == PATH) == wins
    assert after == s or after.container.compat[0].loads is True  # type: ignore[index,union-attr]


def test_nothing_is_newer_than_a_driver_of_no_known_version() -> None:
    library = CompatLibrary(path=PATH, version="580.82.07")
    versions = ("kernel_version", "nvml_driver_version", "nvml_library_version", "libcuda_version")
    unknown = {f"driver.{name}": Missing("error") for name in versions}
    s = healthy(container=True).replace({**unknown, "container.compat": (library,)})
    assert with_compat(s, matrix()) == s
