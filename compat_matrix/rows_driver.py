"""Rows about drivers and toolkits: branches, toolkit releases, version floors, forward compatibility."""

import msgspec


class Row(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What every row has: a key into data/sources.json, how reliable it is, and notes.

    confidence: measured (read from the vendor's or project's own file), documented, derived (concluded from
    neighbors or third parties) or memory (not checked: never a verdict).
    """

    source: str
    confidence: str
    note: str = ""


class DriverBranch(Row, frozen=True, kw_only=True, gc=False):
    """One driver branch. Dates are YYYY-MM[-DD]; open_module: none, alpha, beta, default, only-turing-up."""

    branch: int
    cuda: str
    type: str
    type_note: str = ""
    first_release: str = ""
    first_release_date: str = ""
    latest_seen: str = ""
    latest_seen_date: str = ""
    end_of_life: str = ""
    oldest_architecture: str = ""
    min_compute_capability: str = ""
    open_module: str = "none"
    windows_first: int | None = None
    windows_last: int | None = None


class Toolkit(Row, frozen=True, kw_only=True, gc=False):
    """One CUDA toolkit release: full-feature driver minimum, ptxas targets, host compiler limits."""

    version: str
    cuda: str
    release_date: str = ""
    min_driver_linux: str = ""
    min_driver_windows: str = ""
    bundled_driver_linux: str = ""
    sm_targets: tuple[str, ...] = ()
    ptx_isa: str = ""
    host_gcc_max_major: int | None = None
    host_clang_max_exclusive: int | None = None


class CudaMajor(Row, frozen=True, kw_only=True, gc=False):
    """Minor-version compatibility of one CUDA major: the driver floor for any minor of it."""

    major: int
    minor_version_compatibility: bool
    min_driver_linux: str = ""
    min_driver_windows: str = ""
    limits: str = "none"


class ForwardCompat(Row, frozen=True, kw_only=True, gc=False):
    """One cuda-compat package. hosts: NVIDIA's table by host branch (compatible, not-needed, not-compatible);
    image_hosts: branches with which the nvidia/cuda images for this CUDA start on data-center GPUs."""

    package: str
    cuda: str
    from_branch: int
    hosts: dict[str, str] = msgspec.field(default_factory=dict)
    image_hosts: tuple[int, ...] = ()


class ForwardCompatRule(Row, frozen=True, kw_only=True, gc=False):
    """One rule of forward compatibility, as text."""

    rule: str
    text: str


class CompatNote(Row, frozen=True, kw_only=True, gc=False):
    """The allow list inside a compat libcuda (note .note.cuda.fwd_compatibility), as seen in public packages."""

    libcuda: str
    cuda: str
    host_branches: tuple[int, ...] = ()
    brand_ids: tuple[int, ...] = ()
    brand_names: tuple[str, ...] = ()
