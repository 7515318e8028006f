"""Where gpudoctor stops counting: a list of which only the first part was examined."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

CapOf = Literal[
    "gpus", "gpu-pairs", "mig-instances", "nvlink-links", "gpu-processes", "unlisted-gpus", "cuda-devices",
    "torch-devices", "torch-libraries", "torch-warnings", "measured-devices", "collective-devices", "folder-names",
    "file-bytes", "device-nodes", "pci-devices", "rdma-cards", "ld-library-path", "path", "loader-cache", "toolkits",
    "package-folders", "pth-files", "pth-lines", "environments", "torch-needs", "package-libraries", "libraries",
    "text-gpus",
]  # fmt: skip


class Cap(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`looked` is a cap, and no count of what is there."""

    what: CapOf
    looked: int
    """How many were examined, the first ones."""
    listed: int | None = None
    """How many there are; None if they were not counted: more than `looked` (in a text: at least so many)."""
    place: str = ""
    """The folder or file, `GPU 3`; empty if there is only one such list."""

    @property
    def words(self) -> str:
        """`64 of 80 GPUs that torch lists`, `the first 64 folders in PATH`."""
        where = f" ({self.place})" if self.place else ""
        if self.listed is None:
            more = "may be" if self.what == "text-gpus" else "are"
            return f"the first {self.looked} {WORDS[self.what]}{where}, but there {more} more"
        return f"{self.looked} of {self.listed} {WORDS[self.what]}{where}"


WORDS: dict[CapOf, str] = {
    "gpus": "GPUs that NVML lists",
    "gpu-pairs": "GPUs for links between them",
    "mig-instances": "slots for MIG instances",
    "nvlink-links": "NVLink links",
    "gpu-processes": "processes on a GPU",
    "unlisted-gpus": "GPUs that the driver has but NVML does not list",
    "cuda-devices": "GPUs that CUDA lists",
    "torch-devices": "GPUs that torch lists",
    "torch-libraries": "libraries that torch loaded",
    "torch-warnings": "warnings from torch",
    "measured-devices": "GPUs that torch lists in the test",
    "collective-devices": "GPUs in the collective",
    "folder-names": "names in a folder",
    "file-bytes": "bytes of a file",
    "device-nodes": "NVIDIA nodes in /dev",
    "pci-devices": "PCI devices",
    "rdma-cards": "RDMA cards",
    "ld-library-path": "folders in LD_LIBRARY_PATH",
    "path": "folders in PATH",
    "loader-cache": "CUDA libraries in the loader's cache",
    "toolkits": "CUDA folders in /usr/local",
    "package-folders": "folders of Python packages",
    "pth-files": ".pth files",
    "pth-lines": "lines in a .pth file",
    "environments": "folders that may hold other Python environments",
    "torch-needs": "libraries that torch needs",
    "package-libraries": "libraries in a package",
    "libraries": "libraries in packages with GPU code",
    "text-gpus": "GPUs that the text names",
}
