"""Raw lines of the torch agent (doctor/patient/torch_facts.py) to facts about how torch behaves."""

from __future__ import annotations

from typing import Any

from ..snapshot import ABSENT, Missing
from .agent_lines import SLOW, AgentResult, Line, fault_missing, is_whole

UNREADABLE = Missing("error", "unreadable answer")
NO_CUDA = Missing("absent", "a build without CUDA")
MAX_DEVICES = 64

FACTS = (
    "imported", "import_error", "import_fault", "import_seconds", "file", "version", "cuda", "python_version",
    "cuda_available", "device_count", "arch_list", "cudnn_version", "cudnn_error", "nccl_version", "first_call_code",
    "first_call_error", "kernel_ran", "kernel_error", "device_names", "device_capabilities", "libraries_loaded",
)  # fmt: skip


def parse_torch_run(result: AgentResult) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """(changes for Snapshot.replace, witnesses). Facts of which nothing was said are Missing with the reason."""
    gap = fault_missing(result)
    answers: dict[str, Line] = {}
    devices: dict[str, dict[int, Line]] = {}
    for line in result.lines:
        name, device = line.get("field"), line.get("device")
        if isinstance(name, str) and isinstance(device, int) and 0 <= device < MAX_DEVICES:
            devices.setdefault(name, {})[device] = line
        elif isinstance(name, str):
            answers[name] = line
    facts: dict[str, Any] = dict.fromkeys(FACTS, gap)
    facts["python_version"] = _text(answers, "python", gap)
    seconds = answers.get("import_seconds", {}).get("value")
    facts["import_seconds"] = float(seconds) if isinstance(seconds, float) or is_whole(seconds) else gap
    warnings = answers.get("warnings", {}).get("value")
    facts["warnings"] = tuple(str(text) for text in warnings) if isinstance(warnings, list) else ()
    if _import(answers, result, facts):
        facts.update(_answers(answers, gap))
        facts.update(_first_call(answers, facts, gap))
        facts.update(_devices(devices, facts, gap))
    changes = {f"torch_run.{name}": value for name, value in facts.items()}
    return changes, {"torch_run.imported": ("import torch",), "torch_run.first_call_code": ("torch.cuda.init",)}


def _import(answers: dict[str, Line], result: AgentResult, facts: dict[str, Any]) -> bool:
    """Fill in how the import went; whether it succeeded."""
    line = answers.get("import")
    if line is not None and "error" not in line:
        facts.update(imported=True, import_error=ABSENT, import_fault=ABSENT)
        return True
    if line is not None:
        words = f"{line.get('error')}: {line.get('text', '')}".rstrip(": ")
        why = Missing("error", "torch cannot be imported")
        facts.update({name: why for name in FACTS if name not in ("python_version", "import_seconds")})
        facts.update(imported=False, import_error=words, import_fault="raised")
    elif result.guilty == "import torch" and result.fault not in SLOW:
        if result.fault == "hang":
            words = f"import torch did not return in {result.seconds:.0f} s"
        elif result.returncode is not None and result.returncode < 0:
            words = f"import torch killed the process with signal {-result.returncode}"
        else:
            words = f"import torch ended the process with exit code {result.returncode}"
        facts.update(imported=False, import_error=words, import_fault="hang" if result.fault == "hang" else "crash")
    return False


def _answers(answers: dict[str, Line], gap: Missing) -> dict[str, Any]:
    cuda, hip = _value(answers, "cuda", gap), _value(answers, "hip", gap)
    plain_build = cuda is None and hip is None
    archs, cudnn, nccl = (_value(answers, name, gap) for name in ("arch_list", "cudnn_version", "nccl_version"))
    libraries = _value(answers, "libraries", gap)
    available, count = _value(answers, "cuda_available", gap), _value(answers, "device_count", gap)
    cudnn_line = answers.get("cudnn_version", {})
    return {
        "file": _text(answers, "file", gap),
        "version": _text(answers, "version", gap),
        "cuda": NO_CUDA if cuda is None else cuda if isinstance(cuda, (str, Missing)) else UNREADABLE,
        "cuda_available": available if isinstance(available, (bool, Missing)) else UNREADABLE,
        "device_count": count if isinstance(count, Missing) or is_whole(count) else UNREADABLE,
        "arch_list": () if plain_build else _texts(archs),
        "cudnn_version": cudnn_version(cudnn),
        "cudnn_error": _words(cudnn_line) if "error" in cudnn_line else ABSENT if cudnn_line else gap,
        "nccl_version": nccl_version(nccl),
        "libraries_loaded": _texts(libraries),
    }


def _first_call(answers: dict[str, Line], facts: dict[str, Any], gap: Missing) -> dict[str, Any]:
    """CUDA's code of the first call: the runtime's own answer where it could be asked, else from torch's exception."""
    line = answers.get("first_call")
    if line is None:
        no_build = "cuda" in answers and facts["cuda"] == NO_CUDA and _value(answers, "hip", gap) is None
        missing = NO_CUDA if no_build else gap
        return dict.fromkeys(("first_call_code", "first_call_error"), missing)
    runtime = _value(answers, "runtime_code", gap)
    code = line.get("code") if "error" in line else 0
    if "error" in line and is_whole(runtime) and runtime:
        code = runtime
    return {
        "first_call_code": code if is_whole(code) else Missing("error", "torch's message contains no code"),
        "first_call_error": _words(line) if "error" in line else ABSENT,
    }


def _devices(devices: dict[str, dict[int, Line]], facts: dict[str, Any], gap: Missing) -> dict[str, Any]:
    """Names, capabilities and kernels of all devices, Missing where one of them is not known."""
    why = gap
    code = facts["first_call_code"]
    if code == NO_CUDA:
        why = NO_CUDA
    elif code != 0 and isinstance(facts["first_call_error"], str):
        why = Missing("error", "CUDA did not initialize")
    count = facts["device_count"] if isinstance(facts["device_count"], int) else 0
    names = [devices.get("device_name", {}).get(n, {}).get("value") for n in range(min(count, MAX_DEVICES))]
    pairs = [devices.get("device_capability", {}).get(n, {}).get("value") for n in range(min(count, MAX_DEVICES))]
    kernels = devices.get("kernel", {})
    wrong = [f"device {n}: {_words(line)}" for n, line in sorted(kernels.items()) if "error" in line]
    wrong += [f"device {n}: wrong result" for n, line in sorted(kernels.items()) if line.get("value") is False]
    facts_of_kernels: dict[str, Any] = {"kernel_ran": why, "kernel_error": why}
    if wrong:
        facts_of_kernels = {"kernel_ran": False, "kernel_error": "; ".join(wrong)[:2000]}
    elif kernels and count > MAX_DEVICES:
        rest = Missing("not-asked", f"torch lists {count} GPUs, but only {MAX_DEVICES} of them were queried")
        facts_of_kernels = {"kernel_ran": rest, "kernel_error": rest}
    elif kernels and len(kernels) == len(names):
        facts_of_kernels = {"kernel_ran": True, "kernel_error": ABSENT}
    whole = names and all(isinstance(name, str) for name in names)
    shaped = pairs and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
    return {
        "device_names": tuple(map(str, names)) if whole else why,
        "device_capabilities": tuple(f"{pair[0]}.{pair[1]}" for pair in pairs if pair) if shaped else why,
        **facts_of_kernels,
    }


def _value(answers: dict[str, Line], name: str, gap: Missing) -> Any:
    line = answers.get(name)
    if line is None:
        return gap
    return Missing("error", _words(line)[:300]) if "error" in line else line.get("value")


def _text(answers: dict[str, Line], name: str, gap: Missing) -> str | Missing:
    value = _value(answers, name, gap)
    return value if isinstance(value, (str, Missing)) else UNREADABLE


def _texts(value: Any) -> tuple[str, ...] | Missing:
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    return value if isinstance(value, Missing) else UNREADABLE


def _words(line: Line) -> str:
    return f"{line.get('error')}: {line.get('text', '')}".rstrip(": ")


def cudnn_version(number: Any) -> str | Missing:
    """91002 as `9.10.2`, 8902 as `8.9.2` (cuDNN 9 widened the minor's place); None is a build without cuDNN."""
    if number is None:
        return Missing("absent", "torch has no cuDNN")
    if not is_whole(number):
        return number if isinstance(number, Missing) else UNREADABLE
    major = 10000 if number >= 90000 else 1000
    return f"{number // major}.{number % major // 100}.{number % 100}"


def nccl_version(number: Any) -> str | Missing:
    """The packed number of torch (2 << 32 | 27 << 16 | 3) or NCCL (21003, 2708) as `2.27.3`; None: a build without."""
    if number is None:
        return Missing("absent", "torch has no NCCL")
    if not is_whole(number) or number < 1000:
        return number if isinstance(number, Missing) else UNREADABLE
    if number >= 1 << 32:
        return f"{number >> 32}.{number >> 16 & 65535}.{number & 65535}"
    major = 10000 if number >= 10000 else 1000
    return f"{number // major}.{number % major // 100}.{number % 100}"
