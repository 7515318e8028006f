"""Part of the agent torch_speed: the NUMA node of a GPU, and this thread bound to the cores of a node."""

from __future__ import annotations

import contextlib
import ctypes
import glob
import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterator, Set


class Nodes:
    """The nodes of which this process may use cores. `root`: the folder that holds sys.

    `near`: the GPU's node; -1 where the machine has one node, or does not tell. `far`: the node farthest from it; -1
    where there is no other.
    """

    def __init__(self, ordinal: int, root: str = "/") -> None:
        self.root = root
        self.cores: Dict[int, Set[int]] = {}
        """Node to its cores that this process may use; none of a node that is not to be used."""
        self.near = self.far = -1
        allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
        for folder in glob.glob(os.path.join(root, "sys/devices/system/node/node[0-9]*")):
            self.cores[int(folder.rpartition("node")[2])] = cpus_of(read(folder, "cpulist")) & allowed
        address = pci_address(ordinal)
        local = cpus_of(read(root, "sys/bus/pci/devices", address, "local_cpulist")) if address else set()
        node = read(root, "sys/bus/pci/devices", address, "numa_node") if address else ""
        if len(glob.glob(os.path.join(root, "sys/devices/system/node/node[0-9]*"))) < 2:
            return
        if re.fullmatch(r"\d{1,4}", node):
            self.near = int(node)
            self.cores[self.near] = local & allowed if local else self.cores.get(self.near, set())
            others = [other for other, cores in self.cores.items() if other != self.near and cores]
            self.far = max(others, key=self.distance, default=-1)

    def distance(self, node: int) -> int:
        """From the GPU's node, by the firmware's table; 0 where it does not tell."""
        words = read(self.root, "sys/devices/system/node/node%d" % self.near, "distance").split()
        online = sorted(
            int(folder.rpartition("node")[2])
            for folder in glob.glob(os.path.join(self.root, "sys/devices/system/node/node[0-9]*"))
        )
        at = online.index(node) if node in online else -1
        return int(words[at]) if 0 <= at < len(words) and words[at].isdigit() else 0

    @contextlib.contextmanager
    def bound(self, node: int) -> Iterator[bool]:
        """This thread on a node's cores, so that memory that it touches first lies there. False where it cannot."""
        cores = self.cores.get(node)
        before = None
        if cores:
            with contextlib.suppress(OSError, AttributeError):
                before = os.sched_getaffinity(0)
                os.sched_setaffinity(0, cores)
        try:
            yield before is not None
        finally:
            if before is not None:
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(0, before)


def read(*parts: str) -> str:
    """A short file of sysfs, stripped; empty where it cannot be read."""
    try:
        with open(os.path.join(*parts), encoding="ascii", errors="replace") as stream:
            return stream.read(4096).strip()
    except OSError:
        return ""


def cpus_of(text: str) -> Set[int]:
    """`0-3,8` as numbers."""
    found: Set[int] = set()
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,5})(?:-(\d{1,5}))?\s*", part)
        if ends:
            found.update(range(int(ends.group(1)), int(ends.group(2) or ends.group(1)) + 1))
    return found


def pci_address(ordinal: int) -> str:
    """`0000:18:00.0` of a device in libcuda's order, as sysfs writes it; empty where libcuda does not tell."""
    try:
        library = getattr(ctypes, "WinDLL", ctypes.CDLL)("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        handle, text = ctypes.c_int(), ctypes.create_string_buffer(32)
        if library.cuInit(0) or library.cuDeviceGet(ctypes.byref(handle), ordinal):
            return ""
        if library.cuDeviceGetPCIBusId(text, 32, handle):
            return ""
    except (OSError, AttributeError):
        return ""
    return text.value.decode("ascii", "replace").lower()
