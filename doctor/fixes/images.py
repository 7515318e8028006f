"""Fixes for a container image that does not match the host's driver."""

from __future__ import annotations

from compat_matrix.versions import minor, numbers

from ..findings import Fix, Matrix, Step
from ..snapshot import ABSENT, Snapshot
from .container import variable_line
from .driver import install_compatible, install_offered, offer, other_host
from .where import driver_changes, guest


def newer_driver_for(s: Snapshot, m: Matrix, cuda: str, *, whole: bool = False) -> tuple[Fix, ...]:
    """A host whose driver supports this CUDA version; a newer driver on this one.

    `whole`: it must report this CUDA version itself (as a requirement of an image asks), not only its major.
    """
    want = minor(cuda)
    row = next((r for r in m.cuda_majors if want and r.major == want[0]), None)
    floor = numbers(row.min_driver_linux) if row else ()
    if whole and want:
        floor = numbers(m.driver_for_cuda("1", cuda).floor_full) or floor
    found = offer(s, m, floor[0]) if floor else None
    if floor and found is None:
        return ()
    offered = install_offered(s, found) if floor else install_compatible(s, m)
    installs = [fix for fix in offered if fix.id == "install-driver"]
    if not guest(s):
        return tuple(installs)
    what = f"whose driver supports CUDA {want[0]}.{want[1]} or newer" if want else "with a newer NVIDIA driver"
    return (other_host(s, what, driver_changes(), by_driver=True), *installs)


def disable_require(s: Snapshot) -> Fix:
    """Turn off the image's requirement check."""
    step = Step(
        text="Do this only if the programs inside are known to run with this driver.",
        command=variable_line(s, "NVIDIA_DISABLE_REQUIRE", "1"),
        where="container-start",
        changes={"container.require_disabled": True},
    )
    return Fix(id="disable-require", title="Start the container without this requirement check", steps=(step,))


def older_image(s: Snapshot, cuda: str, below: str = "") -> Fix:
    """An image for the driver's CUDA; if that is unknown, for a version `below` the one that was refused."""
    which = (
        f"CUDA {cuda} or older" if cuda else f"a CUDA version older than {below}" if below else "an older CUDA version"
    )
    step = Step(
        text=f"Use a tag of this image that is built for {which}.",
        where="container-start",
        changes={"container.image_cuda": cuda or ABSENT, "container.requirements": ()},
    )
    return Fix(id="older-image", title=f"Start an image that is built for {which}", steps=(step,))
