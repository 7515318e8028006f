"""Rows that the check path does not open: images, extensions, MIG, links, measured performance, ROCm builds."""

from typing import Literal

import msgspec

from .rows_driver import Row


class BrandException(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Brands x driver branches that an image also starts on."""

    brands: tuple[str, ...]
    branches: tuple[int, ...] = ()


class Image(Row, frozen=True, kw_only=True, gc=False):
    """NVIDIA_REQUIRE_CUDA of an nvidia/cuda tag; the same tag may have been rebuilt with a different list."""

    tag: str
    arch: str
    os_variants: tuple[str, ...] = ()
    cuda_min: str = ""
    exceptions: tuple[BrandException, ...] = ()
    other_alternatives: str = ""
    geforce: bool = False
    term_order: str = ""
    string_sha256_16: str = ""


class NgcImage(Row, frozen=True, kw_only=True, gc=False):
    """A monthly release of NVIDIA's framework containers (nvcr.io/nvidia/pytorch, tensorflow, tritonserver ...).

    cuda: major.minor in all of them; torch: version of the PyTorch container, '' if none was released or it is
    unknown. They only require cuda>=9.0 and include cuda-compat.
    """

    release: str
    cuda: str
    torch: str = ""
    archs: str = ""
    """TORCH_CUDA_ARCH_LIST of the PyTorch container for x86_64; '' if unknown."""


class Extension(Row, frozen=True, kw_only=True, gc=False):
    """One release of a package with its own CUDA code; sass measured in the Linux x86_64 wheel. pythons: those of its
    wheels, if each is for one Python."""

    package: str
    version: str
    date: str = ""
    requires_python: str = ""
    pythons: tuple[str, ...] = ()
    torch: str = ""
    cuda: str = ""
    min_driver: str = ""
    min_sm: str = ""
    max_sm: str = ""
    """The highest compute capability of releases from here to the next row; '' for no known limit."""
    sass: tuple[str, ...] = ()
    sass_text: str = ""
    ptx_text: str = ""
    platforms: str = ""


class ExtensionIndex(Row, frozen=True, kw_only=True, gc=False):
    """A project's own index with a release for a CUDA other than PyPI's; torch: what that build is made for."""

    package: str
    version: str
    tag: str
    torch: str
    url: str


class ExtensionWheel(Row, frozen=True, kw_only=True, gc=False):
    """Wheels that an extension's release has outside PyPI, for one CUDA major: each torch minor with each Python,
    except those in `absent` ('2.4 3.13'), and each C++ ABI (TRUE: the new one). url: with the fields in braces."""

    package: str
    version: str
    cuda: str
    torch: tuple[str, ...]
    pythons: tuple[str, ...]
    abis: tuple[str, ...]
    platforms: tuple[str, ...]
    absent: tuple[str, ...] = ()
    min_capability: str = ""
    url: str


class MigProfile(Row, frozen=True, kw_only=True, gc=False):
    """One MIG profile of a GPU."""

    gpu: str
    profile: str
    max_instances: float | None = None
    sm_count: float | None = None
    memory_gib: float | None = None
    memory_fraction: str = ""
    compute_fraction: str = ""


class Performance(Row, frozen=True, kw_only=True, gc=False):
    """A measured value or published threshold; unit as named.

    kind: measured (on sound boards, with the tool and conditions named); acceptance (a threshold or target that NVIDIA
    or an operator checks against, which says little about what is usual). min and max are set if they differ from the
    median.
    """

    gpu: str
    gpu_name: str = ""
    metric: str
    kind: Literal["measured", "acceptance"]
    pattern: str = ""
    min: float | None = None
    median: float | None = None
    max: float | None = None
    n: float | None = None
    unit: str = ""
    spec_peak: float | None = None
    conditions: str = ""

    @property
    def least(self) -> float:
        """The smallest sample; 0 if there is none."""
        return self.min or self.median or 0.0

    @property
    def most(self) -> float:
        """The largest sample; 0 if there is none."""
        return self.max or self.median or 0.0

    @property
    def percent(self) -> float:
        """The median as a share of the peak, in percent; 0 if one of them is not listed."""
        return 100 * (self.median or 0.0) / self.spec_peak if self.spec_peak else 0.0


class NvLink(Row, frozen=True, kw_only=True, gc=False):
    """NVLink of one GPU model; rates in GB/s per direction."""

    generation: str
    gpu: str
    links: float | None = None
    link_gb_s: float | None = None
    total_gb_s_per_direction: float | None = None
    nccl_link_gb_s: float | None = None
    topology: str = ""


class Pcie(Row, frozen=True, kw_only=True, gc=False):
    """One PCIe generation; GB/s per direction by link width."""

    gen: str
    gt_s: float | None = None
    x16_gb_s: float | None = None
    x8_gb_s: float | None = None
    x4_gb_s: float | None = None
    measured_h2d_x16: str = ""
    measured_d2h_x16: str = ""
    pass_threshold_x16: str = ""


class Cpu(Row, frozen=True, kw_only=True, gc=False):
    """One point of CPU speed for comparison."""

    cpu: str
    kind: str = ""
    metric: str = ""
    value: float | None = None


class Rocm(Row, frozen=True, kw_only=True, gc=False):
    """One torch x ROCm build."""

    torch: str
    rocm: str
    tag: str
    gfx: tuple[str, ...] = ()


class Publisher(Row, frozen=True, kw_only=True, gc=False):
    """Who publishes what a table lists, how often, and when the table was last compared with it.

    package: the part of the table, if it has several publishers; every_days: usual days between two releases;
    read_date: the day (YYYY-MM-DD) on which the table was complete."""

    table: str
    package: str = ""
    publisher: str
    every_days: int
    read_date: str
