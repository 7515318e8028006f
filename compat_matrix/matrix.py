"""The Matrix: one method for each question, each answered by the module of its subject."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .store import Store

if TYPE_CHECKING:
    from .builds import BestBuilds
    from .code import CodeGrade
    from .companions import CompanionGrade, Expected
    from .conda import CondaChoice
    from .drivers import BranchAnswer, DriverGpuGrade, DriverGrade, Platform
    from .extension_wheels import WheelChoice
    from .forward import ForwardCompatGrade
    from .gpus import GpuMatch
    from .libraries import LibraryGrade
    from .performance import Expectation, Kind
    from .rows_code import Capability
    from .rows_driver import DriverBranch, Toolkit
    from .rows_gpu import Gpu
    from .rows_library import CudaError, Cudnn, Nccl, NvmlError
    from .rows_torch import IndexUrl, TorchBuild, TorchRelease
    from .torchs import PythonGrade, TorchAnswer


class Matrix(Store):
    """Facts about compatibility. Make one with `Matrix.load()`; tables are decoded when first asked for."""

    __slots__ = ()

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
        self,
        driver: str,
        capability: str,
        flavour: str | None = None,
        platform: Platform = "linux",
        gpu_name: str | None = None,
    ) -> DriverGpuGrade:
        """Grade a driver (flavour 'open', 'proprietary', None) against a compute capability."""
        from .drivers import driver_for_gpu

        return driver_for_gpu(self, driver, capability, flavour, platform, gpu_name)

    def branch_to_install(
        self, capabilities: Sequence[str], floor: int = 0, today: str = "", platform: Platform = "linux"
    ) -> DriverBranch | None:
        """The lowest living branch from `floor` on for these GPUs; `today` (YYYY-MM-DD): else the matrix's own day."""
        from .drivers import branch_to_install

        today = today or "-".join(self.version.split(".")[:3])
        return branch_to_install(self, capabilities, floor, today, platform)

    def forward_compat(
        self,
        cuda: str,
        host_driver: str,
        *,
        gpu_name: str | None = None,
        brand_id: int | None = None,
        segment: str | None = None,
        note_hosts: Sequence[int] | None = None,
        note_brands: Sequence[int] | None = None,
    ) -> ForwardCompatGrade:
        """Grade the compat libcuda of a CUDA version on a host driver and GPU (Linux)."""
        from .forward import forward_compat

        return forward_compat(
            self,
            cuda,
            host_driver,
            gpu_name=gpu_name,
            brand_id=brand_id,
            segment=segment,
            note_hosts=note_hosts,
            note_brands=note_brands,
        )

    # GPUs and machine code

    def gpu(
        self,
        name: str | None = None,
        pci_device_id: str | int | None = None,
        pci_subsystem_id: str | int | None = None,
        memory_mib: int | None = None,
    ) -> GpuMatch:
        """The product behind a NVML name, PCI ids and memory together."""
        from .gpus import gpu

        return gpu(self, name, pci_device_id, pci_subsystem_id, memory_mib)

    def gpus_like(self, name: str) -> GpuMatch:
        """Every product whose name holds these words, for what people write of a board; never exact."""
        from .gpus import gpus_like

        return gpus_like(self, name)

    def gpu_by_capability(self, capability: str) -> tuple[Gpu, ...]:
        """Every listed GPU of a compute capability."""
        return tuple(row for row in self.gpus if capability and row.cc == capability)

    def compute_capability(self, capability: str) -> Capability | None:
        """The row of '8.6', '9.0a' ...; None when not listed."""
        index: dict[str, Capability] = self.memo("by cc", lambda: {row.cc: row for row in self.capabilities})
        return index.get(capability)

    def code_for_gpu(
        self,
        capability: str,
        sass: Sequence[str],
        ptx: Sequence[str] = (),
        driver_cuda: str | None = None,
        build_cuda: str | None = None,
    ) -> CodeGrade:
        """Grade compiled targets against a GPU: sass, ptx-jit, none, unknown."""
        from .code import code_for_gpu

        return code_for_gpu(self, capability, sass, ptx, driver_cuda, build_cuda)

    def expected(
        self,
        gpus: Sequence[Gpu],
        kind: Kind,
        what: str = "",
        *,
        power_limit_w: float | None = None,
        power_default_w: float | None = None,
        mig_profile: str = "",
        pcie_gen: int | None = None,
        pcie_width: int | None = None,
    ) -> Expectation:
        """What a GPU should reach: kind matmul (what: fp32, tf32, fp16, bf16, fp8, int8), memory or h2d.

        gpus: `gpu(...).rows`. pcie_gen, pcie_width: what GPU and slot together can do, where it is known.
        """
        from .performance import expected

        return expected(
            self,
            gpus,
            kind,
            what,
            power_limit_w=power_limit_w,
            power_default_w=power_default_w,
            mig_profile=mig_profile,
            pcie_gen=pcie_gen,
            pcie_width=pcie_width,
        )

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
        self,
        gpus: Sequence[str],
        driver: str | None = None,
        os: str = "linux",
        arch: str = "x86_64",
        python: str | None = None,
        torch: str | None = None,
        forward_compat: bool = False,
        packages: Sequence[str] = ("torchvision", "torchaudio"),
        limit: int = 8,
    ) -> BestBuilds:
        """torch builds that serve these compute capabilities on this driver, best first."""
        from .builds import best_builds

        return best_builds(self, gpus, driver, os, arch, python, torch, forward_compat, packages, limit)

    def conda_builds(
        self,
        gpus: Sequence[str],
        driver: str | None = None,
        os: str = "linux",
        arch: str = "x86_64",
        python: str | None = None,
        torch: str | None = None,
    ) -> tuple[CondaChoice, ...]:
        """conda-forge's builds of pytorch that serve these compute capabilities on this driver, best first."""
        from .conda import conda_builds

        return conda_builds(self, gpus, driver, os, arch, python, torch)

    def extension_wheel(
        self,
        package: str,
        *,
        torch: str,
        cuda: str,
        python: str | None,
        abi: bool | None,
        platform: str,
        version: str = "",
    ) -> WheelChoice:
        """The wheel that an extension's project has beside PyPI for this torch, or the reason why there is none."""
        from .extension_wheels import extension_wheel

        return extension_wheel(
            self, package, torch=torch, cuda=cuda, python=python, abi=abi, platform=platform, version=version
        )

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
