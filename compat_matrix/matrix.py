"""The Matrix: tables read from a folder on first use, and one method for each question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from .tables import DATA, Table, decode, row_type

if TYPE_CHECKING:
    from .builds import BestBuilds
    from .code import CodeGrade
    from .companions import CompanionGrade, Expected
    from .drivers import BranchAnswer, DriverGpuGrade, DriverGrade, ForwardCompatGrade, Platform
    from .gpus import GpuMatch
    from .libraries import LibraryGrade
    from .rows_code import BinaryRule, Capability, PtxTarget
    from .rows_driver import CompatNote, CudaMajor, DriverBranch, ForwardCompat, ForwardCompatRule, Toolkit
    from .rows_gpu import Gpu, GpuSpec
    from .rows_library import CudaError, Cudnn, Nccl, NvmlError
    from .rows_more import Cpu, Extension, Image, MigProfile, NvLink, Pcie, Performance, Rocm
    from .rows_torch import Companion, IndexUrl, TorchBuild, TorchRelease
    from .torchs import PythonGrade, TorchAnswer

T = TypeVar("T")
SCHEMA_VERSION = 1


class Meta(msgspec.Struct, frozen=True):
    """data/meta.json: layout version, and the day the facts stand for (YYYY.MM.DD)."""

    schema_version: int
    version: str


class Matrix:
    """Facts about compatibility. Make one with `Matrix.load()`; tables are decoded when first asked for."""

    __slots__ = ("_directory", "_memo", "schema_version", "version")

    # Tables the check path may open.
    drivers: Table[DriverBranch] = Table("drivers")
    toolkits: Table[Toolkit] = Table("toolkits")
    cuda_majors: Table[CudaMajor] = Table("cuda_majors")
    compat_packages: Table[ForwardCompat] = Table("forward_compat")
    capabilities: Table[Capability] = Table("compute_capability")
    ptx_targets: Table[PtxTarget] = Table("ptx_portability")
    binary_rules: Table[BinaryRule] = Table("binary_rules")
    releases: Table[TorchRelease] = Table("torch_releases")
    builds: Table[TorchBuild] = Table("torch_builds")
    index_urls: Table[IndexUrl] = Table("index_urls")
    companion_rows: Table[Companion] = Table("companions")
    gpus: Table[Gpu] = Table("gpus")
    cudnn_rows: Table[Cudnn] = Table("cudnn")
    nccl_rows: Table[Nccl] = Table("nccl")
    cuda_errors: Table[CudaError] = Table("cuda_errors")
    nvml_errors: Table[NvmlError] = Table("nvml_errors")
    # Tables for other work.
    gpu_specs: Table[GpuSpec] = Table("gpu_specs")
    forward_compat_rules: Table[ForwardCompatRule] = Table("forward_compat_rules")
    compat_notes: Table[CompatNote] = Table("compat_notes")
    images: Table[Image] = Table("images")
    extensions: Table[Extension] = Table("extensions")
    mig_profiles: Table[MigProfile] = Table("mig")
    performance: Table[Performance] = Table("performance")
    nvlinks: Table[NvLink] = Table("nvlink")
    pcie: Table[Pcie] = Table("pcie")
    cpus: Table[Cpu] = Table("cpus")
    rocm: Table[Rocm] = Table("rocm")

    def __init__(self, directory: str, meta: Meta) -> None:
        self._directory = directory
        self._memo: dict[str, Any] = {}
        self.schema_version = meta.schema_version
        self.version = meta.version

    @classmethod
    def load(cls, dir: str | None = None) -> Matrix:
        """The matrix of this package, or of another folder of the same layout. Raises MatrixError."""
        from .tables import MatrixError

        directory = dir or DATA
        meta: Meta = decode(directory, "meta", Meta)
        if meta.schema_version > SCHEMA_VERSION:
            raise MatrixError(f"matrix schema {meta.schema_version} is newer than this program ({SCHEMA_VERSION})")
        return cls(directory, meta)

    def rows(self, table: str) -> tuple[Any, ...]:
        """All rows of a table by its file name (see tables.TABLES). Raises MatrixError, KeyError."""
        return self.memo("table " + table, lambda: decode(self._directory, table, tuple[row_type(table), ...]))  # type: ignore[misc]

    def memo(self, key: str, make: Callable[[], T]) -> T:
        """A value worked out once per matrix (a table, an index over one)."""
        if key not in self._memo:
            self._memo[key] = make()
        return cast("T", self._memo[key])

    @property
    def directory(self) -> str:
        """The folder this matrix reads."""
        return self._directory

    def source(self, key: str) -> str:
        """The full text of a row's source; the key itself when it is not listed."""
        texts: dict[str, str] = self.memo("sources", lambda: decode(self._directory, "sources", dict[str, str]))
        return texts.get(key, key)

    # Drivers

    def driver_branch(self, version: str, platform: Platform = "linux") -> BranchAnswer:
        """The row of a driver's branch, e.g. of '535.129.03'."""
        from .drivers import driver_branch

        return driver_branch(self, version, platform)

    def driver_for_cuda(self, driver: str, cuda: str, platform: Platform = "linux") -> DriverGrade:
        """Grade a driver against a build's CUDA version: native, minor-version, needs-forward-compat, impossible."""
        from .drivers import driver_for_cuda

        return driver_for_cuda(self, driver, cuda, platform)

    def driver_for_gpu(
        self, driver: str, capability: str, flavour: str | None = None, platform: Platform = "linux"
    ) -> DriverGpuGrade:
        """Grade a driver (flavour 'open', 'proprietary', None) against a compute capability."""
        from .drivers import driver_for_gpu

        return driver_for_gpu(self, driver, capability, flavour, platform)

    def forward_compat(
        self, cuda: str, host_driver: str, *, gpu_name: str | None = None, brand_id: int | None = None,
        segment: str | None = None, note_hosts: Sequence[int] | None = None, note_brands: Sequence[int] | None = None,
    ) -> ForwardCompatGrade:  # fmt: skip
        """Grade the compat libcuda of a CUDA version on a host driver and GPU (Linux)."""
        from .drivers import forward_compat

        return forward_compat(
            self, cuda, host_driver, gpu_name=gpu_name, brand_id=brand_id, segment=segment,
            note_hosts=note_hosts, note_brands=note_brands,
        )  # fmt: skip

    # GPUs and machine code

    def gpu(
        self, name: str | None = None, pci_device_id: str | int | None = None,
        pci_subsystem_id: str | int | None = None, memory_mib: int | None = None,
    ) -> GpuMatch:  # fmt: skip
        """The product behind a NVML name, PCI ids and memory together."""
        from .gpus import gpu

        return gpu(self, name, pci_device_id, pci_subsystem_id, memory_mib)

    def gpu_by_capability(self, capability: str) -> tuple[Gpu, ...]:
        """Every listed GPU of a compute capability."""
        return tuple(row for row in self.gpus if capability and row.cc == capability)

    def compute_capability(self, capability: str) -> Capability | None:
        """The row of '8.6', '9.0a' ...; None when not listed."""
        index: dict[str, Capability] = self.memo("by cc", lambda: {row.cc: row for row in self.capabilities})
        return index.get(capability)

    def code_for_gpu(
        self, capability: str, sass: Sequence[str], ptx: Sequence[str] = (), driver_cuda: str | None = None,
        build_cuda: str | None = None,
    ) -> CodeGrade:  # fmt: skip
        """Grade compiled targets against a GPU: sass, ptx-jit, none, unknown."""
        from .code import code_for_gpu

        return code_for_gpu(self, capability, sass, ptx, driver_cuda, build_cuda)

    # torch

    def torch_release(self, version: str) -> TorchAnswer:
        """What is known of a torch version ('2.6.0+cu124', nightlies and vendor builds too)."""
        from .torchs import torch_release

        return torch_release(self, version)

    def torch_builds(self, version: str, platform: str | None = None) -> tuple[TorchBuild, ...]:
        """The builds of a torch release; platform: linux_x86_64, linux_aarch64, windows, linux_x86_64_conda."""
        from .torchs import torch_builds

        return torch_builds(self, version, platform)

    def torch_build(self, version: str, tag: str, platform: str = "linux_x86_64") -> TorchBuild | None:
        """One build, e.g. ('2.8.0', 'cu128')."""
        return next((row for row in self.torch_builds(version, platform) if row.tag == tag), None)

    def pypi_tag(self, version: str, platform: str = "linux_x86_64") -> str | None:
        """What a plain PyPI install of a torch release gives: a CUDA tag, 'cpu', 'none'; None when not listed."""
        from .torchs import pypi_tag

        return pypi_tag(self, version, platform)

    def torch_for(self, capability: str, platform: str = "linux_x86_64") -> tuple[TorchBuild, ...]:
        """Published builds with SASS for a GPU, newest torch first."""
        from .torchs import torch_for

        return torch_for(self, capability, platform)

    def python_for_torch(self, torch: str, python: str, platform: str = "linux_x86_64") -> PythonGrade:
        """Is there a wheel of this torch for this Python ('3.11', '3.13t')?"""
        from .torchs import python_for_torch

        return python_for_torch(self, torch, python, platform)

    def torch_for_python(self, python: str, platform: str = "linux_x86_64") -> tuple[TorchRelease, ...]:
        """Releases with a wheel for this Python, newest first."""
        from .torchs import torch_for_python

        return torch_for_python(self, python, platform)

    def index_url(self, tag: str) -> IndexUrl | None:
        """The PyTorch wheel index of a tag ('cu126', 'cpu', 'rocm6.4')."""
        return next((row for row in self.index_urls if row.tag == tag), None)

    def companions(self, torch: str) -> tuple[Expected, ...]:
        """The packages that go with a torch version, with the versions of each."""
        from .companions import companions

        return companions(self, torch)

    def companion_matches(self, torch: str, package: str, version: str) -> CompanionGrade:
        """Grade an installed companion package against torch: match, mismatch, unknown."""
        from .companions import companion_matches

        return companion_matches(self, torch, package, version)

    def best_builds(
        self, gpus: Sequence[str], driver: str | None = None, os: str = "linux", arch: str = "x86_64",
        python: str | None = None, torch: str | None = None, forward_compat: bool = False,
        packages: Sequence[str] = ("torchvision", "torchaudio"), limit: int = 8,
    ) -> BestBuilds:  # fmt: skip
        """torch builds that serve these compute capabilities on this driver, best first."""
        from .builds import best_builds

        return best_builds(self, gpus, driver, os, arch, python, torch, forward_compat, packages, limit)

    # Libraries, toolkits and errors

    def cudnn(self, version: str) -> Cudnn | None:
        """The row of a cuDNN version ('9.10.2.21', or the integer 91002 as text)."""
        from .libraries import cudnn

        return cudnn(self, version)

    def cudnn_for_gpu(self, version: str, capability: str, cuda_major: int | None = None) -> LibraryGrade:
        """Grade a cuDNN version against a GPU: ok, dropped, unknown."""
        from .libraries import cudnn_for_gpu

        return cudnn_for_gpu(self, version, capability, cuda_major)

    def nccl(self, version: str) -> Nccl | None:
        """The row of a NCCL version ('2.27.3', '2.25.1.post1')."""
        from .libraries import nccl

        return nccl(self, version)

    def nccl_for_gpu(self, version: str, capability: str, cuda_major: int) -> LibraryGrade:
        """Grade a NCCL wheel against a GPU by the code measured in it: ok, dropped, unknown."""
        from .libraries import nccl_for_gpu

        return nccl_for_gpu(self, version, capability, cuda_major)

    def toolkit(self, version: str) -> Toolkit | None:
        """The toolkit release '12.8.1'; for '12.8' the newest update of it."""
        from .libraries import toolkit

        return toolkit(self, version)

    def cuda_error(self, code: int | str) -> CudaError | None:
        """A CUDA error by number or by either of its names."""
        from .libraries import cuda_error

        return cuda_error(self, code)

    def nvml_error(self, code: int | str) -> NvmlError | None:
        """A NVML return code by number or name."""
        from .libraries import nvml_error

        return nvml_error(self, code)

    def lint(self) -> list[str]:
        """Problems of the data files, one line each; empty when the matrix is sound."""
        from .lint import lint

        return lint(self)
