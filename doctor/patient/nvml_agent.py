"""Part of the agent nvml: every question, in the order of its worth."""

from __future__ import annotations

import ctypes
import time

from .nvml_answers import Fabric, Fabric2, Fabric3, Refused, Sram, Unrepairable, number_in, plain
from .nvml_calls import FAILED, Calls
from .nvml_questions import (
    BLACKWELL,
    DETAILS,
    ESSENTIAL,
    FUNCTION_NOT_FOUND,
    LINK_FIELDS,
    LINK_FIELDS_BLACKWELL,
    MIG_FIELDS,
    PROCESSES,
    VERSION_MISMATCH,
    VGPU_GUEST,
)
from .process_owner import owner_of

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module is not worth its start-up time here
    from collections.abc import Sequence
    from typing import Any

MAX_GPUS = 256
MAX_GPUS_FOR_PAIRS = 16
MAX_MIG_DEVICES = 16
MAX_PROCESSES = 256
MAX_LINKS = 64
APART_S = 0.1
FABRIC_READY = 3


class Agent(Calls):
    """Asks about each GPU."""

    def __init__(self, descriptor: int, nvml: Any) -> None:
        Calls.__init__(self, descriptor, nvml)
        self.links_of: dict[int, int] = {}
        self.links_up: dict[int, list[int]] = {}
        self.fabric: dict[int, Any] = {}
        self.architecture: dict[int, Any] = {}
        self.counted: dict[int, tuple[float, Any, Any]] = {}

    def run(self) -> None:
        """All questions, in the order of their worth."""
        if self.ask("init", "nvmlInitWithFlags", 0) is FAILED:
            return
        self.emit(field="init", value=0)
        self.call("driver_version", "nvmlSystemGetDriverVersion")
        self.call("cuda_version", "nvmlSystemGetCudaDriverVersion_v2")
        count = self.call("count", "nvmlDeviceGetCount")
        handles = {}
        for gpu in range(min(count, MAX_GPUS) if isinstance(count, int) else 0):
            handle = self.ask("handle", "nvmlDeviceGetHandleByIndex", gpu, gpu=gpu)
            if handle is FAILED:
                continue
            handles[gpu] = handle
            for field, name, arguments in ESSENTIAL:
                self.architecture[gpu] = self.call(field, name, handle, *arguments, gpu=gpu)  # the last is this one
        for gpu, handle in handles.items():
            self.details(gpu, handle)
        for gpu, handle in handles.items():
            self.processes(gpu, handle)
        self.pairs(handles)
        self.counters_again(handles)

    def details(self, gpu: int, handle: Any) -> None:
        """What is no condition of a diagnosis."""
        mode = FAILED
        for field, name, arguments in DETAILS:
            mode = self.call(field, name, handle, *arguments, gpu=gpu)
        if mode == VGPU_GUEST:  # the last of them: the virtualization mode
            self.call("vgpu_license", "nvmlDeviceGetGridLicensableFeatures", handle, gpu=gpu)
        self.links(gpu, handle)
        self.structures(gpu, handle)
        self.mig_devices(gpu, handle)
        errors = self.link_errors("nvlink_errors", gpu, handle)
        replays = self.call("pcie_replays", "nvmlDeviceGetPcieReplayCounter", handle, gpu=gpu)
        self.counted[gpu] = (time.monotonic(), errors, replays)

    def links(self, gpu: int, handle: Any) -> None:
        """NVLink state (0 down, 1 up, 2 asleep) of each link; the first that NVML refuses ends the list."""
        states = []
        self.emit(begin="nvmlDeviceGetNvLinkState", gpu=gpu)
        try:
            for link in range(MAX_LINKS):
                states.append(self.nvml.nvmlDeviceGetNvLinkState(handle, link))
        except Exception as error:
            if not states:
                self.refused("nvlink", error, gpu=gpu)
                return
        if len(states) == MAX_LINKS:
            self.emit(cap="nvlink-links", looked=MAX_LINKS, gpu=gpu)
        self.links_of[gpu] = len(states)
        self.links_up[gpu] = [link for link, state in enumerate(states) if state]
        self.emit(field="nvlink", value=states, gpu=gpu)

    def link_errors(self, field: str, gpu: int, handle: Any) -> dict[str, list[int | None]] | None:
        """Error counters of all links by name, null for a link that does not tell; None where none does."""
        links, architecture = self.links_of.get(gpu, 0), self.architecture.get(gpu)
        newer = isinstance(architecture, int) and BLACKWELL <= architecture < 0xFFFF
        table = LINK_FIELDS_BLACKWELL if newer else LINK_FIELDS
        if not links:
            return None
        counts, refused = self.counts(gpu, "nvmlDeviceGetFieldValues", handle, table, links)
        if refused is not None and not newer:  # drivers before 520
            counts, refused = self.counts(gpu, "nvmlDeviceGetNvLinkErrorCounter", handle, table, links)
        if refused is not None:
            self.refused(field, refused, gpu=gpu)
            return None
        value = {name: counts[at * links : (at + 1) * links] for at, (name, _) in enumerate(table)}
        self.emit(field=field, value=value, gpu=gpu)
        return value

    def counts(self, gpu: int, name: str, handle: Any, table: Sequence[Any], links: int) -> tuple[Any, Any]:
        """Counters of the table for each link by one of two calls; the second is an error where none was told."""
        refused: Any = None
        found: list[int | None] = []
        self.emit(begin=name, gpu=gpu)
        try:
            if name == "nvmlDeviceGetFieldValues":
                fields = [(number, link) for _, number in table for link in range(links)]
                for answer in self.nvml.nvmlDeviceGetFieldValues(handle, fields):
                    refused = refused or (Refused(answer.nvmlReturn) if answer.nvmlReturn else None)
                    found.append(None if answer.nvmlReturn else number_in(answer))
            else:
                for kind in range(len(table)):
                    for link in range(links):
                        try:
                            found.append(self.nvml.nvmlDeviceGetNvLinkErrorCounter(handle, link, kind))
                        except self.nvml.NVMLError as error:
                            refused = refused or error
                            found.append(None)
        except Exception as error:
            return [], error
        return found, refused if all(count is None for count in found) else None

    def counters_again(self, handles: dict[int, Any]) -> None:
        """Read the counters that are not zero a second time; waits only where there is one, and never twice."""
        for gpu, (read_at, errors, replays) in self.counted.items():
            linked = errors and any(count for counts in errors.values() for count in counts)
            counted = isinstance(replays, int) and replays > 0
            if not linked and not counted:
                continue
            time.sleep(max(0.0, read_at + APART_S - time.monotonic()))
            if linked:
                self.link_errors("nvlink_errors_again", gpu, handles[gpu])
            if counted:
                self.call("pcie_replays_again", "nvmlDeviceGetPcieReplayCounter", handles[gpu], gpu=gpu)
            self.emit(field="counters_ms", value=int((time.monotonic() - read_at) * 1000), gpu=gpu)

    def structures(self, gpu: int, handle: Any) -> None:
        """Answers in structures that changed over time: the newest form first, then those of older drivers."""
        optional = (("sram", (Sram,)), ("unrepairable", (Unrepairable,)), ("fabric", (Fabric3, Fabric2, Fabric)))
        for field, forms in optional:
            for form in forms:
                answer, last = form(), form is forms[-1]
                if form is not Fabric:
                    answer.version = ctypes.sizeof(form) | form.form << 24
                self.emit(begin=form.call, gpu=gpu)
                try:
                    value = plain(field, self.fill(form.call, handle, answer))
                except Exception as error:
                    if not last and getattr(error, "value", -2) in (FUNCTION_NOT_FOUND, VERSION_MISMATCH):
                        continue
                    self.refused(field, error, gpu=gpu)
                else:
                    self.emit(field=field, value=value, gpu=gpu)
                    if field == "fabric":
                        self.fabric[gpu] = value["state"]
                break

    def mig_devices(self, gpu: int, handle: Any) -> None:
        """MIG devices of a GPU, each with "mig": N; `mig_count` says how many slots there are."""
        slots = self.call("mig_count", "nvmlDeviceGetMaxMigDeviceCount", handle, gpu=gpu)
        for slot in range(min(slots, MAX_MIG_DEVICES) if isinstance(slots, int) else 0):
            device = self.ask("mig_handle", "nvmlDeviceGetMigDeviceHandleByIndex", handle, slot, gpu=gpu, mig=slot)
            if device is not FAILED:
                for field, name, arguments in MIG_FIELDS:
                    self.call(field, name, device, *arguments, gpu=gpu, mig=slot)

    def processes(self, gpu: int, handle: Any) -> None:
        """Processes by kind: `[{"pid", "memory", "name", "owner"}]`; null where NVML or /proc does not tell."""
        for kind, name in PROCESSES:
            found = self.ask("processes_" + kind, name, handle, gpu=gpu)
            if found is FAILED:
                continue
            listed = []
            if len(found) > MAX_PROCESSES:
                self.emit(cap="gpu-processes", looked=MAX_PROCESSES, listed=len(found), gpu=gpu)
            for process in found[:MAX_PROCESSES]:
                memory = process.usedGpuMemory
                row = {"pid": process.pid, "memory": memory, "name": self.process_name(process.pid)}
                listed.append(dict(row, owner=owner_of(process.pid)))
            self.emit(field="processes_" + kind, value=listed, gpu=gpu)

    def process_name(self, pid: int) -> str | None:
        """The name of a process; None where this container cannot see it."""
        try:
            name = self.nvml.nvmlSystemGetProcessName(pid)
            return name if isinstance(name, str) else None
        except Exception:
            return None

    def link_ends(self, gpu: int, handle: Any) -> None:
        """Of each link that is up, the PCI address of its other end and NVML's number for what that is.

        A GPU in a ready fabric reaches all others by switches: of it nothing more is asked.
        """
        up = self.links_up.get(gpu)
        if not up or self.fabric.get(gpu) == FABRIC_READY:
            return
        ends = []
        self.emit(begin="nvmlDeviceGetNvLinkRemotePciInfo", gpu=gpu)
        try:
            for link in up:
                end = self.nvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, link)
                ends.append([plain("pci", end)["bus_id"], self.nvml.nvmlDeviceGetNvLinkRemoteDeviceType(handle, link)])
        except Exception as error:
            self.refused("nvlink_ends", error, gpu=gpu)
            return
        self.emit(field="nvlink_ends", value=ends, gpu=gpu)

    def pairs(self, handles: dict[int, Any]) -> None:
        """Peer-to-peer reads, NVLink and topology of each two GPUs."""
        order = list(handles)[:MAX_GPUS_FOR_PAIRS]
        if len(order) > 1:
            for gpu in order:
                self.link_ends(gpu, handles[gpu])
        for i, gpu in enumerate(order):
            for other in order[i + 1 :]:
                both = handles[gpu], handles[other]
                self.call("p2p_read", "nvmlDeviceGetP2PStatus", *both, 0, gpu=gpu, other=other)
                self.call("p2p_nvlink", "nvmlDeviceGetP2PStatus", *both, 2, gpu=gpu, other=other)
                self.call("topology", "nvmlDeviceGetTopologyCommonAncestor", *both, gpu=gpu, other=other)
