"""The Snapshot: everything that gpudoctor can look at becomes one immutable value, and only it is judged."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace as struct_replace

from .cap import Cap, CapOf
from .cuda import Cuda
from .driver import Driver
from .engine import Engines
from .fact import NOT_ASKED, Missing, Section
from .gpu import Gpu, GpuPair
from .host import Container, Host
from .measured import Measured
from .outside import Outside
from .python import Python
from .symptom import Ranked, Similar, Symptom, Unread
from .torch import Torch, TorchRun


class Target(Struct, frozen=True, kw_only=True):
    """What was looked at. `kind`: live, replay, root, report, text, image."""

    kind: str = "live"
    name: str = ""
    gathered_at: str = ""
    """ISO 8601, UTC."""


class Snapshot(Section, frozen=True, kw_only=True, omit_defaults=True):
    """All facts. Sections always exist; their fields are values or Missing."""

    target: Target = Target()
    host: Host = Host()
    container: Container = Container()
    engines: Engines = Engines()
    driver: Driver = Driver()
    gpus: tuple[Gpu, ...] | Missing = NOT_ASKED
    """Physical GPUs by NVML. An empty tuple is 'NVML answered: none'."""
    gpu_pairs: tuple[GpuPair, ...] | Missing = NOT_ASKED
    cuda: Cuda = Cuda()
    python: Python = Python()
    torch: Torch = Torch()
    torch_run: TorchRun = TorchRun()
    measured: Measured = Measured()
    witnesses: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Fact path (`driver.kernel_version`) to the files, calls or lines of text that speak of it."""
    symptoms: tuple[Symptom, ...] = ()
    """Messages of a pasted text; empty on a machine that was looked at."""
    ranked: tuple[Ranked, ...] = ()
    """What the words of a pasted text make likely, the likeliest first; empty on a machine that was looked at."""
    question: str = ""
    """A short pasted text that asks something, unchanged: the matrix or a command answers it."""
    similar: tuple[Similar, ...] = ()
    """Solved threads that are like a pasted text, the nearest first."""
    tried: tuple[str, ...] = ()
    """Commands that a pasted text shows as carried out, without sudo and quotes."""
    outside: Outside | None = None
    """The host of a container that was looked into from there."""
    unread: Unread | None = None
    """Of a pasted text that is too large to be read whole."""
    caps: tuple[Cap, ...] = ()
    """Lists of which only the first part was examined; their length is not the full count."""

    @property
    def is_text(self) -> bool:
        """Whether these are the facts of a pasted text, which has messages as well."""
        return self.target.kind == "text"

    def as_report(self) -> Snapshot:
        """A pasted text's facts without its messages: they say what was, not what would be after a change."""
        if not self.is_text:
            return self
        target = struct_replace(self.target, kind="report")
        return struct_replace(self, target=target, symptoms=(), ranked=(), unread=None)

    def cap(self, what: CapOf) -> Cap | None:
        """Where gpudoctor stopped counting; None if it looked at all of them."""
        return next((cap for cap in self.caps if cap.what == what), None)

    def replace(self, changes: dict[str, Any]) -> Snapshot:
        """A copy with facts changed by path: `{'torch.cuda': '12.6', 'gpus': (...)}`. Unknown paths raise KeyError."""
        result = self
        for path, value in changes.items():
            result = _set(result, path.split("."), value, path)
        return result

    def fact(self, path: str) -> Any:
        """The value at a path such as `torch.cuda`; KeyError if there is no such fact."""
        value: Any = self
        for part in path.split("."):
            if not hasattr(value, "__struct_fields__") or part not in value.__struct_fields__:
                raise KeyError(path)
            value = getattr(value, part)
        return value


def _set(node: Any, parts: list[str], value: Any, path: str) -> Any:
    if not isinstance(node, Section) or parts[0] not in node.__struct_fields__:
        raise KeyError(path)
    if len(parts) > 1:
        value = _set(getattr(node, parts[0]), parts[1:], value, path)
    return struct_replace(node, **{parts[0]: value})


def join(image: Snapshot, host: Snapshot) -> Snapshot:
    """One Snapshot from an image's facts and a host's: what the kernel and the GPUs say is the host's, the rest is
    the image's. Used by image preflight; a container on a live machine is already both.

    What CUDA answered outside does not apply inside, where it was not asked.
    """
    driver = struct_replace(
        host.driver,
        libcuda_path=image.driver.libcuda_path,
        libcuda_version=image.driver.libcuda_version,
        libcuda_candidates=image.driver.libcuda_candidates,
        libcuda_stub=image.driver.libcuda_stub,
        cu_init=NOT_ASKED,
        cu_init_name=NOT_ASKED,
        cuda_devices=NOT_ASKED,
    )
    compat = () if isinstance(host.container.compat, Missing) else host.container.compat
    if any(one.loads is True for one in compat):
        driver = struct_replace(driver, cuda_version=NOT_ASKED, nvml_cuda_version=NOT_ASKED)  # of the compat library
    architecture = image.host.architecture
    machine = struct_replace(
        image.host,
        kernel=host.host.kernel,
        architecture=host.host.architecture if isinstance(architecture, Missing) else architecture,
        wsl=host.host.wsl,
        virtualization=host.host.virtualization,
        chassis=host.host.chassis,
        cluster_node=host.host.cluster_node,
        cpu_model=host.host.cpu_model,
        cpu_cores=host.host.cpu_cores,
        memory_total_mib=host.host.memory_total_mib,
        secure_boot=host.host.secure_boot,
        provider=host.host.provider,
        scheduler=host.host.scheduler,
    )
    return struct_replace(image, host=machine, driver=driver, gpus=host.gpus, gpu_pairs=host.gpu_pairs)
