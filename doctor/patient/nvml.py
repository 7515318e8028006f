"""Agent: what NVML says, through nvidia-ml-py; one JSON line an answer on stdout.

Run alone: `python -I -S nvml.py FOLDER_OF_PYNVML`. Lines: {"begin": CALL} before each call, with "gpu": N for a
GPU's; then {"field": NAME, "value": V} or {"field": NAME, "error": NVML_CODE, "text": T} with the same "gpu"; {"cap":
WHAT, "looked": N, "listed": M} where only the first N of a list are asked (without M: nobody counted them). Error -1
is the loader's refusal, -2 an exception in the binding. What decides the diagnosis comes first, for all GPUs, then
details, then processes and pairs: a hang keeps what came before it. Bytes and milliwatts as NVML gives them; UUIDs and
serial numbers are not masked. Raw: judges nothing.

Counters of errors are read once, and where one is not zero, once more at the end and at least 100 ms later
(`nvlink_errors_again`, `pcie_replays_again`, `counters_ms`): a count alone does not say whether it climbs.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module is not worth its start-up time here
    from collections.abc import Callable, Sequence
    from typing import Any

try:
    from _json import encode_basestring_ascii as _quote
except ImportError:
    from json import dumps as _quote

LIBRARY = "libnvidia-ml.so.1"
MAX_GPUS = 256
MAX_GPUS_FOR_PAIRS = 16
MAX_MIG_DEVICES = 16
MAX_PROCESSES = 256
MAX_LINKS = 64
FUNCTION_NOT_FOUND, VERSION_MISMATCH = 13, 25
FIELD_RECOVERY_ACTION = 230
LINK_FIELDS = (("replay", 161), ("recovery", 162), ("crc", 163))
LINK_FIELDS_BLACKWELL = (("failed", 214), ("recovery", 215))
"""Counters of each NVLink link by field id; Blackwell and later do not support those of before (nvml.h)."""
BLACKWELL = 10
APART_S = 0.1
VGPU_GUEST = 2
FAILED = object()

ESSENTIAL = (
    ("uuid", "nvmlDeviceGetUUID", ()),
    ("name", "nvmlDeviceGetName", ()),
    ("pci", "nvmlDeviceGetPciInfo_v3", ()),
    ("compute_capability", "nvmlDeviceGetCudaComputeCapability", ()),
    ("memory", "nvmlDeviceGetMemoryInfo", (0x02000028,)),
    ("mig_mode", "nvmlDeviceGetMigMode", ()),
    ("compute_mode", "nvmlDeviceGetComputeMode", ()),
    ("brand", "nvmlDeviceGetBrand", ()),
    ("architecture", "nvmlDeviceGetArchitecture", ()),
)
"""Field, function, further arguments: what a diagnosis cannot do without."""

DETAILS = (
    ("serial", "nvmlDeviceGetSerial", ()),
    ("vbios", "nvmlDeviceGetVbiosVersion", ()),
    ("persistence_mode", "nvmlDeviceGetPersistenceMode", ()),
    ("ecc_mode", "nvmlDeviceGetEccMode", ()),
    ("ecc_corrected_volatile", "nvmlDeviceGetTotalEccErrors", (0, 0)),
    ("ecc_uncorrected_volatile", "nvmlDeviceGetTotalEccErrors", (1, 0)),
    ("ecc_uncorrected_aggregate", "nvmlDeviceGetTotalEccErrors", (1, 1)),
    ("remapped_rows", "nvmlDeviceGetRemappedRows", ()),
    ("retired_pages_single", "nvmlDeviceGetRetiredPages", (0,)),
    ("retired_pages_double", "nvmlDeviceGetRetiredPages", (1,)),
    ("retired_pages_pending", "nvmlDeviceGetRetiredPagesPendingStatus", ()),
    ("recovery_action", "nvmlDeviceGetFieldValues", ([FIELD_RECOVERY_ACTION],)),
    ("power_draw", "nvmlDeviceGetPowerUsage", ()),
    ("power_limit", "nvmlDeviceGetEnforcedPowerLimit", ()),
    ("power_default", "nvmlDeviceGetPowerManagementDefaultLimit", ()),
    ("power_range", "nvmlDeviceGetPowerManagementLimitConstraints", ()),
    ("temperature", "nvmlDeviceGetTemperature", (0,)),
    ("temperature_shutdown", "nvmlDeviceGetTemperatureThreshold", (0,)),
    ("temperature_slowdown", "nvmlDeviceGetTemperatureThreshold", (1,)),
    ("temperature_margin", "nvmlDeviceGetMarginTemperature", ()),
    ("clock_sm", "nvmlDeviceGetClockInfo", (1,)),
    ("clock_sm_max", "nvmlDeviceGetMaxClockInfo", (1,)),
    ("clock_memory", "nvmlDeviceGetClockInfo", (2,)),
    ("clock_memory_max", "nvmlDeviceGetMaxClockInfo", (2,)),
    ("clock_event_reasons", "nvmlDeviceGetCurrentClocksThrottleReasons", ()),
    ("pcie_gen", "nvmlDeviceGetCurrPcieLinkGeneration", ()),
    ("pcie_gen_max", "nvmlDeviceGetMaxPcieLinkGeneration", ()),
    ("pcie_gen_device_max", "nvmlDeviceGetGpuMaxPcieLinkGeneration", ()),
    ("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth", ()),
    ("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth", ()),
    ("utilization", "nvmlDeviceGetUtilizationRates", ()),
    ("fan", "nvmlDeviceGetFanSpeed", ()),
    ("gsp_firmware", "nvmlDeviceGetGspFirmwareVersion", ()),
    ("virtualization_mode", "nvmlDeviceGetVirtualizationMode", ()),
)
"""The clocks' event reasons are asked by their old name: drivers before 535 have only that, newer ones have both."""

OLDER: dict[str, Callable[[Any, Any], Any]] = {
    "nvmlDeviceGetMemoryInfo": lambda nvml, given: nvml.nvmlDeviceGetMemoryInfo(given[0]),
    "nvmlSystemGetCudaDriverVersion_v2": lambda nvml, given: nvml.nvmlSystemGetCudaDriverVersion(),
    "nvmlDeviceGetComputeRunningProcesses_v3": lambda nvml, given: nvml.nvmlDeviceGetComputeRunningProcesses_v2(*given),
    "nvmlDeviceGetGraphicsRunningProcesses_v3": (
        lambda nvml, given: nvml.nvmlDeviceGetGraphicsRunningProcesses_v2(*given)
    ),
}
"""What to call where an older libnvidia-ml lacks a function."""

PROCESSES = (
    ("compute", "nvmlDeviceGetComputeRunningProcesses_v3"),
    ("graphics", "nvmlDeviceGetGraphicsRunningProcesses_v3"),
    ("mps", "nvmlDeviceGetMPSComputeRunningProcesses_v3"),
)

MIG_FIELDS = (
    ("uuid", "nvmlDeviceGetUUID", ()),
    ("name", "nvmlDeviceGetName", ()),
    ("memory", "nvmlDeviceGetMemoryInfo", ()),
    ("gpu_instance", "nvmlDeviceGetGpuInstanceId", ()),
    ("compute_instance", "nvmlDeviceGetComputeInstanceId", ()),
)


def dumps(value: Any) -> str:
    """JSON of None, bool, int, str, list and dict, without the cost of importing json."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([dumps(item) for item in value]) + "]"
    if isinstance(value, dict):
        return "{" + ",".join([_quote(str(key)) + ":" + dumps(item) for key, item in value.items()]) + "}"
    return _quote(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


class Refused(Exception):
    """An NVML code that came inside an answer."""

    def __init__(self, value: int) -> None:
        super().__init__("NVML code " + str(value))
        self.value = value


def plain(field: str, value: Any) -> Any:
    """A binding's answer as JSON values."""
    if field == "pci":
        return {"bus_id": value.busId, "device_id": value.pciDeviceId, "subsystem_id": value.pciSubSystemId}
    if field == "memory":
        return {"total": value.total, "used": value.used, "reserved": getattr(value, "reserved", None)}
    if field == "utilization":
        return [value.gpu, value.memory]
    if field.startswith("retired_pages_") and isinstance(value, list):
        return len(value)
    if field == "vgpu_license":
        features = value.gridLicensableFeatures[: min(value.licensableFeaturesCount, 3)]
        return [bool(value.isGridLicenseSupported), any(bool(feature.featureState) for feature in features)]
    if field == "recovery_action":
        if value[0].nvmlReturn:
            raise Refused(value[0].nvmlReturn)
        return value[0].value.uiVal
    if field == "sram":
        return {"exceeded": bool(value.exceeded), "uncorrected": value.aggregate[0] + value.aggregate[1]}
    if field == "unrepairable":
        return bool(value.flag)
    if field == "fabric":
        return {name: getattr(value, name, None) for name in ("state", "status", "mask", "summary")}
    return value


class Agent:
    """Asks NVML call by call."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.nvml: Any = None
        self.links_of: dict[int, int] = {}
        self.architecture: dict[int, Any] = {}
        self.counted: dict[int, tuple[float, Any, Any]] = {}

    def emit(self, **line: Any) -> None:
        """Write one line at once."""
        data = (dumps(line) + "\n").encode("ascii", "replace")
        while data:
            data = data[os.write(self.descriptor, data) :]

    def call(self, field: str, name: str, *arguments: Any, **where: Any) -> Any:
        """Call the binding and write the answer; returns it, or FAILED where it is an error."""
        value = self.ask(field, name, *arguments, **where)
        if value is not FAILED:
            self.emit(field=field, value=value, **where)
        return value

    def ask(self, field: str, name: str, *arguments: Any, **where: Any) -> Any:
        """As `call`, but only an error is written."""
        self.emit(begin=name, **where)
        try:
            try:
                return plain(field, self.function(name)(*arguments))
            except self.nvml.NVMLError as error:
                older = OLDER.get(name)
                if error.value != FUNCTION_NOT_FOUND or older is None:
                    raise
                return plain(field, older(self.nvml, arguments))
        except Exception as error:
            code = getattr(error, "value", None)
            text = str(error)[:500]
            if isinstance(code, int):
                self.emit(field=field, error=code, text=text, **where)
            else:
                self.emit(field=field, error=-2, text=type(error).__name__ + ": " + text, **where)
            return FAILED

    def function(self, name: str) -> Any:
        """A call of the binding; one that is older than the call is as a driver that lacks it."""
        found = getattr(self.nvml, name, None)
        if found is None:
            raise self.nvml.NVMLError(FUNCTION_NOT_FOUND)
        return found

    def fill(self, name: str, handle: Any, answer: Any) -> Any:
        """Have NVML fill in a structure of ours: bindings before 13.580 lack some of them."""
        code = self.nvml._nvmlGetFunctionPointer(name)(handle, ctypes.byref(answer))
        if code:
            raise self.nvml.NVMLError(code)
        return answer

    def run(self, folder: str) -> None:
        """All questions, in the order of their worth."""
        if not self.load() or not self.bind(folder) or self.ask("init", "nvmlInitWithFlags", 0) is FAILED:
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

    def load(self) -> bool:
        """Whether the library loads, asked before the slow import of the binding (on Windows that looks itself)."""
        if sys.platform == "win32":
            return True
        self.emit(begin="dlopen " + LIBRARY)
        try:
            library = ctypes.CDLL(LIBRARY)
        except OSError as error:
            self.emit(field="library", error=-1, text=str(error)[:500])
            return False
        self.emit(field="library", value=mapped_path(library, "nvmlInit_v2", "libnvidia-ml.so") or LIBRARY)
        return True

    def bind(self, folder: str) -> bool:
        """Import the binding from its folder."""
        self.emit(begin="import pynvml")
        lighten()
        sys.path.append(folder)
        try:
            import pynvml

            self.nvml = pynvml
        except Exception as error:
            self.emit(field="binding", error=-2, text=type(error).__name__ + ": " + str(error)[:500])
            return False
        self.emit(field="binding", value=str(getattr(pynvml, "__file__", "")))
        return True

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
                self.emit(field="nvlink", error=getattr(error, "value", -2), text=str(error)[:500], gpu=gpu)
                return
        if len(states) == MAX_LINKS:
            self.emit(cap="nvlink-links", looked=MAX_LINKS, gpu=gpu)
        self.links_of[gpu] = len(states)
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
            self.emit(field=field, error=getattr(refused, "value", -2), text=str(refused)[:500], gpu=gpu)
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
        asked = (("sram", (_Sram,)), ("unrepairable", (_Unrepairable,)), ("fabric", (_Fabric3, _Fabric2, _Fabric)))
        for field, forms in asked:
            for form in forms:
                answer, last = form(), form is forms[-1]
                if form is not _Fabric:
                    answer.version = ctypes.sizeof(form) | form.form << 24
                self.emit(begin=form.call, gpu=gpu)
                try:
                    value = plain(field, self.fill(form.call, handle, answer))
                except Exception as error:
                    code = getattr(error, "value", -2)
                    if not last and code in (FUNCTION_NOT_FOUND, VERSION_MISMATCH):
                        continue
                    self.emit(field=field, error=code, text=str(error)[:500], gpu=gpu)
                else:
                    self.emit(field=field, value=value, gpu=gpu)
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
        """Processes by kind: `[{"pid", "memory", "name"}]`; memory and name null where NVML does not tell."""
        for kind, name in PROCESSES:
            found = self.ask("processes_" + kind, name, handle, gpu=gpu)
            if found is FAILED:
                continue
            listed = []
            if len(found) > MAX_PROCESSES:
                self.emit(cap="gpu-processes", looked=MAX_PROCESSES, listed=len(found), gpu=gpu)
            for process in found[:MAX_PROCESSES]:
                memory = process.usedGpuMemory
                listed.append({"pid": process.pid, "memory": memory, "name": self.process_name(process.pid)})
            self.emit(field="processes_" + kind, value=listed, gpu=gpu)

    def process_name(self, pid: int) -> str | None:
        """The name of a process; None where this container cannot see it."""
        try:
            name = self.nvml.nvmlSystemGetProcessName(pid)
            return name if isinstance(name, str) else None
        except Exception:
            return None

    def pairs(self, handles: dict[int, Any]) -> None:
        """Peer-to-peer reads and topology of each two GPUs."""
        order = list(handles)[:MAX_GPUS_FOR_PAIRS]
        for i, gpu in enumerate(order):
            for other in order[i + 1 :]:
                both = handles[gpu], handles[other]
                self.call("p2p_read", "nvmlDeviceGetP2PStatus", *both, 0, gpu=gpu, other=other)
                self.call("topology", "nvmlDeviceGetTopologyCommonAncestor", *both, gpu=gpu, other=other)


def lighten() -> None:
    """Spare the binding two imports that take longer than itself, of which it uses next to nothing.

    Whatever else it wants of them is taken from the real modules.
    """
    module = type(sys)

    class Light(module):  # type: ignore[misc, valid-type]
        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            import importlib

            sys.modules.pop(self.__name__, None)
            return getattr(importlib.import_module(self.__name__), name)

    def find_library(name: str) -> Any:
        return util.__getattr__("find_library")(name)

    def capwords(text: str, sep: str | None = None) -> str:
        return (sep or " ").join([word.capitalize() for word in text.split(sep)])

    util, string = Light("ctypes.util"), Light("string")
    util.find_library, string.capwords = find_library, capwords
    for light in (util, string):
        sys.modules.setdefault(light.__name__, light)


def number_in(answer: Any) -> int:
    """The whole number in a field value, by its type."""
    member = {1: "uiVal", 2: "ulVal", 4: "sllVal"}.get(answer.valueType, "ullVal")
    return int(getattr(answer.value, member))


class _Sram(ctypes.Structure):
    """nvmlEccSramErrorStatus_v1_t; counts by parity, SEC-DED and corrected."""

    call, form = "nvmlDeviceGetSramEccErrorStatus", 1
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("aggregate", ctypes.c_uint64 * 3),
        ("since_reset", ctypes.c_uint64 * 3),
        ("buckets", ctypes.c_uint64 * 5),
        ("exceeded", ctypes.c_uint32),
    ]


class _Unrepairable(ctypes.Structure):
    """nvmlUnrepairableMemoryStatus_v1_t."""

    call, form = "nvmlDeviceGetUnrepairableMemoryFlag_v1", 1
    _fields_ = [("version", ctypes.c_uint32), ("flag", ctypes.c_uint32)]


_FABRIC: Any = [
    ("cluster", ctypes.c_uint8 * 16),
    ("status", ctypes.c_uint32),
    ("clique", ctypes.c_uint32),
    ("state", ctypes.c_uint8),
]


class _Fabric(ctypes.Structure):
    """nvmlGpuFabricInfo_t."""

    call, form = "nvmlDeviceGetGpuFabricInfo", 1
    _fields_ = _FABRIC


class _Fabric2(ctypes.Structure):
    """nvmlGpuFabricInfo_v2_t."""

    call, form = "nvmlDeviceGetGpuFabricInfoV", 2
    _fields_ = [("version", ctypes.c_uint32), *_FABRIC, ("mask", ctypes.c_uint32)]


class _Fabric3(ctypes.Structure):
    """nvmlGpuFabricInfo_v3_t."""

    call, form = "nvmlDeviceGetGpuFabricInfoV", 3
    _fields_ = [*_Fabric2._fields_, ("summary", ctypes.c_uint8)]


class _Info(ctypes.Structure):
    _fields_ = [
        ("dli_fname", ctypes.c_char_p),
        ("dli_fbase", ctypes.c_void_p),
        ("dli_sname", ctypes.c_char_p),
        ("dli_saddr", ctypes.c_void_p),
    ]


def mapped_path(library: Any, symbol: str, name: str) -> str | None:
    """Real path of the file that a loaded library is mapped from: dladdr, else /proc/self/maps, else None."""
    try:
        info = _Info()
        dladdr = ctypes.CDLL(None).dladdr
        dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Info)]
        address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p)
        if dladdr(address, ctypes.byref(info)) and info.dli_fname:
            path = os.fsdecode(info.dli_fname)
            if os.path.isabs(path):
                return os.path.realpath(path)
    except Exception:
        pass
    try:
        with open("/proc/self/maps", errors="replace") as maps:
            for line in maps:
                path = line[line.find("/") :].rstrip("\n") if "/" in line else ""
                if os.path.basename(path).startswith(name):
                    return path
    except OSError:
        pass
    return None


def main(arguments: Sequence[str]) -> None:
    """Run as an agent; ends the process at once, so that no exit handler of the driver can hang or crash it."""
    descriptor = os.dup(1)
    os.dup2(2, 1)
    Agent(descriptor).run(arguments[0] if arguments else "")
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
