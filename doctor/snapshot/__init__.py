"""The immutable facts that everything after gathering works on (see DESIGN: the Snapshot)."""

from __future__ import annotations

from .cap import Cap
from .cuda import Cuda, LoaderLibrary, Toolkit
from .driver import CallFault, CudaDevice, DeviceNode, Driver, LibraryFile, NodeKind, PciDevice, UnlistedGpu
from .fact import ABSENT, NOT_ASKED, Missing, NeedsFact, Reason, known, need
from .gpu import Gpu, GpuPair, GpuProcess, MigInstance, NvLinkErrors
from .host import CompatLibrary, Container, Disk, EnvVar, Host
from .measured import (
    BatchPoint,
    CollectiveProof,
    CollectiveRate,
    CopyProof,
    CpuScore,
    DdpRun,
    DriverProof,
    LinkGroup,
    Load,
    Measured,
    PairProof,
    ProductProof,
    RankWait,
    Rate,
    SendRate,
    SoakPoint,
    StepEnd,
    SumWay,
    TorchProof,
    TrainingStep,
    Watch,
)
from .python import CodeEntry, CodeLibrary, CodeSection, Distribution, Environment, Python
from .snapshot import SCHEMA_VERSION, Snapshot, Target, join
from .symptom import Ranked, Similar, Symptom, Unread
from .torch import Torch, TorchRun

__all__ = [
    "ABSENT", "NOT_ASKED", "SCHEMA_VERSION", "BatchPoint", "CallFault", "Cap", "CodeEntry", "CodeLibrary",
    "CodeSection", "CollectiveProof", "CollectiveRate", "CompatLibrary", "Container", "CopyProof", "CpuScore", "Cuda",
    "CudaDevice", "DdpRun", "DeviceNode", "Disk", "Distribution", "Driver", "DriverProof", "EnvVar", "Environment",
    "Gpu", "GpuPair", "GpuProcess", "Host", "LibraryFile", "LinkGroup", "Load", "LoaderLibrary", "Measured",
    "MigInstance", "Missing", "NeedsFact", "NodeKind", "NvLinkErrors", "PairProof", "PciDevice", "ProductProof",
    "Python", "RankWait", "Ranked", "Rate", "Reason", "SendRate", "Similar", "Snapshot", "SoakPoint", "StepEnd",
    "SumWay", "Symptom", "Target", "Toolkit", "Torch", "TorchProof", "TorchRun", "TrainingStep", "UnlistedGpu",
    "Unread", "Watch", "join", "known", "need",
]  # fmt: skip
