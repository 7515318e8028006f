"""The immutable facts that everything after gathering works on (see DESIGN: the Snapshot)."""

from __future__ import annotations

from .cuda import Cuda, LoaderLibrary, Toolkit
from .driver import CallFault, CudaDevice, DeviceNode, Driver, LibraryFile, PciDevice
from .fact import ABSENT, NOT_ASKED, Missing, NeedsFact, Reason, known, need
from .gpu import Gpu, GpuPair, GpuProcess, MigInstance
from .host import CompatLibrary, Container, Disk, EnvVar, Host
from .python import CodeEntry, CodeLibrary, CodeSection, Distribution, Environment, Python
from .snapshot import SCHEMA_VERSION, Snapshot, Target, join
from .symptom import Symptom
from .torch import Torch, TorchRun

__all__ = [
    "ABSENT", "NOT_ASKED", "SCHEMA_VERSION", "CallFault", "CodeEntry", "CodeLibrary", "CodeSection", "CompatLibrary",
    "Container", "Cuda", "CudaDevice", "DeviceNode", "Disk", "Distribution", "Driver", "EnvVar", "Environment", "Gpu",
    "GpuPair", "GpuProcess", "Host", "LibraryFile", "LoaderLibrary", "MigInstance", "Missing", "NeedsFact", "PciDevice",
    "Python", "Reason", "Snapshot", "Symptom", "Target", "Toolkit", "Torch", "TorchRun", "join", "known", "need",
]  # fmt: skip
