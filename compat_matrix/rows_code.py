"""Rows about machine code: compute capabilities, where PTX assembles, exceptions of binary compatibility."""

from .rows_driver import Row


class Capability(Row, frozen=True, kw_only=True, gc=False):
    """One compute capability or a/f variant. last_* empty means still supported; driver numbers are branches.

    open_module: unsupported, supported, required, tegra (the Jetson driver has its own rules).
    """

    cc: str
    architecture: str
    examples: str = ""
    first_toolkit: str = ""
    last_toolkit: str = ""
    first_driver: int | None = None
    last_driver: int | None = None
    open_module: str = "supported"
    tegra: bool = False


class PtxTarget(Row, frozen=True, kw_only=True, gc=False):
    """A PTX target and the capabilities that ptxas accepts it for (the a/f family rule as data)."""

    target: str
    runs_on: tuple[str, ...]


class BinaryRule(Row, frozen=True, kw_only=True, gc=False):
    """An exception to 'same major, minor not lower'.

    rule: own-code-only (device takes no other code), also-runs, never, unverified (answer unknown),
    from-build-cuda (counts when the build's CUDA is at least min_build_cuda), misnamed (cuobjdump's name for code of
    the device that no compiler has as a target).
    """

    rule: str
    device: str
    code: tuple[str, ...] = ()
    min_build_cuda: str = ""
