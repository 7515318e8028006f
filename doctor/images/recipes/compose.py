"""Compose files: GPUs reserved, shared memory, health checks, variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from ...formats.given import Unopened, read_given
from .bases import base_of
from .docker_rules import by_nvidia_smi
from .instructions import MOST_BYTES, Unparsed, instructions
from .lint import Fault
from .packages import torch_of
from .parallel import too_few
from .stages import chosen, stages
from .tags import published
from .variables import variable_faults
from .yaml_nodes import FETCHES, at, environment, line_of, of_the_driver, words

_SMALL_MIB = 256
_TRAINS = re.compile(r"(?i)torchrun|accelerate|deepspeed|train|vllm|sglang|tensor-parallel|num.?workers|nccl")


def compose_faults(document: dict[str, Any], folder: Path) -> Iterator[Fault]:
    """Problems in every service."""
    services = document.get("services")
    if not isinstance(services, dict):
        return
    own = [service for service in services.values() if isinstance(service, dict)]
    on_gpu = {made_from for service in own if _asks(service) for made_from in _made_from(service)}
    for name, service in services.items():
        if isinstance(service, dict):
            yield from _service(str(name), line_of(services, name), service, folder, on_gpu)


def _reserved(service: dict[str, Any]) -> list[dict[str, Any]]:
    devices = at(service, "deploy", "resources", "reservations", "devices")
    return [one for one in devices or () if isinstance(one, dict)] if isinstance(devices, list) else []


def _made_from(service: dict[str, Any]) -> list[tuple[str, ...]]:
    """What shows that two services run the same image: its name, or what it is built from."""
    found: list[tuple[str, ...]] = []
    if image := service.get("image"):
        found.append((str(image).removeprefix("docker.io/").removeprefix("library/").removesuffix(":latest"),))
    build = service.get("build")
    if isinstance(build, str):
        build = {"context": build}
    if isinstance(build, dict):
        context = str(PurePosixPath(str(build.get("context") or ".")))
        found.append((context, str(build.get("dockerfile") or "Dockerfile"), str(build.get("target") or "")))
    return found


def _asks(service: dict[str, Any]) -> bool:
    return bool(_reserved(service) or service.get("gpus") or service.get("runtime") == "nvidia" or _cdi(service))


def _service(
    name: str, line: int, service: dict[str, Any], folder: Path, on_gpu: set[tuple[str, ...]]
) -> Iterator[Fault]:
    """on_gpu: images of services that ask for a GPU; a service without one then uses such an image on purpose."""
    devices = at(service, "deploy", "resources", "reservations", "devices")
    reserved, asks = _reserved(service), _asks(service)
    started = f"{name} {words(service.get('command'))} {words(service.get('entrypoint'))} {service.get('image', '')}"
    elsewhere = FETCHES.search(started) or re.search(
        r"(?i)(?:^|[^a-z])cpu(?:[^a-z]|$)", f"{started} {service.get('environment')}"
    )
    meant = not on_gpu.isdisjoint(_made_from(service))
    needs = "" if elsewhere or meant else _needs_gpu(service, folder)
    variables = environment(service.get("environment"))
    if needs and not asks and "extends" not in service and "NVIDIA_VISIBLE_DEVICES" not in variables:
        detail = f"{name}: {needs} is started without a GPU."
        yield Fault(
            rule="service-without-gpu", line=line_of(service, "image") if "image" in service else line, detail=detail
        )
    for number, one in enumerate(reserved):
        yield from _reservation(name, one, line_of(devices, number))
    for variable, (value, at_line) in variables.items():
        yield from variable_faults(variable, value, at_line, base_of(str(service.get("image") or "")).nvcc)
    yield from published(str(service.get("image") or ""), line_of(service, "image"))
    command_line = f"{words(service.get('command'))} {words(service.get('entrypoint'))}"
    yield from too_few(name, command_line, _count(reserved or service.get("gpus")), line)
    if asks and not service.get("ipc") and not _tmpfs(service):
        size = service.get("shm_size")
        if (size is None and _TRAINS.search(started)) or (size is not None and _mib(size) < _SMALL_MIB):
            where = line_of(service, "shm_size") if size is not None else line
            detail = f"{name}: shm_size {size}." if size is not None else f"{name}: neither shm_size nor ipc is set."
            yield Fault(rule="shared-memory-small", line=where, detail=detail)
    for number, volume in enumerate(service.get("volumes") or ()):
        source = str(at(volume, "source") or "") if isinstance(volume, dict) else str(volume).partition(":")[0]
        if source.startswith("/") and of_the_driver(source):
            at_line = line_of(service["volumes"], number)
            yield Fault(rule="driver-mounted-by-hand", line=at_line, detail=f"{name}: {source}.")
    test = at(service, "healthcheck", "test")
    if test is not None and by_nvidia_smi(words(test)):
        yield Fault(rule="healthcheck-by-nvidia-smi", line=line_of(service["healthcheck"], "test"), detail=f"{name}.")


def _count(devices: Any) -> int | None:
    """Number of GPUs that it gets; None for all, or for a number that only the engine knows."""
    total = 0
    for one in devices if isinstance(devices, list) else ():
        ids = at(one, "device_ids")
        count = len(ids) if isinstance(ids, list) and "all" not in str(ids) else at(one, "count")
        if not isinstance(count, int):
            return None
        total += count
    return total or None


def _reservation(name: str, one: dict[str, Any], line: int) -> Iterator[Fault]:
    capabilities = one.get("capabilities")
    flat = [str(word) for row in capabilities for word in (row if isinstance(row, list) else [row])] if isinstance(
        capabilities, list
    ) else []  # fmt: skip
    if one.get("driver") not in (None, "nvidia", "cdi"):
        return
    what = ""
    if not flat:
        what = "capabilities is missing, so compose rejects it"
    elif one.get("driver") != "cdi" and not {"gpu", "nvidia", "compute", "utility", "tpu"} & set(flat):
        what = f"capabilities {flat} do not include a GPU"
    elif "count" in one and "device_ids" in one:
        what = "count cannot be used with device_ids"
    elif any(not isinstance(value, str) for value in one.get("device_ids") or ()):
        what = "device_ids must be strings: ['0', '1']"
    elif "count" in one and not (one["count"] == "all" or isinstance(one["count"], int) or "$" in str(one["count"])):
        what = f"count is {one['count']!r}, but must be a whole number or all"
    if what:
        yield Fault(rule="gpu-reservation-incomplete", line=line, detail=f"{name}: {what}.")


def _needs_gpu(service: dict[str, Any], folder: Path) -> str:
    """What shows that it needs a GPU: its image's name, or the base of its Dockerfile."""
    image = str(service.get("image") or "")
    build = service.get("build")
    if build is None:
        return image if image and base_of(image).gpu else ""
    context = build if isinstance(build, str) else str(at(build, "context") or ".")
    if "$" in context or "://" in context:
        return ""
    file = folder / context / str(at(build, "dockerfile") or "Dockerfile")
    try:
        root = folder.resolve()
        if not file.resolve().is_relative_to(root) or not file.is_file():
            return ""
        text = read_given(str(file), MOST_BYTES, "is too large").decode("utf-8", "replace")
        stage = chosen(stages(instructions(text, str(file)), str(file), {}), at(build, "target"), str(file))
    except (OSError, Unopened, Unparsed):
        return ""
    uses = any(one.build == "cuda" for step in stage.whole if step.word == "RUN" for one in torch_of(step))
    return stage.image if base_of(stage.image).gpu or uses else ""


def _cdi(service: dict[str, Any]) -> bool:
    listed = service.get("devices")
    return isinstance(listed, list) and any("nvidia" in str(one) for one in listed)


def _tmpfs(service: dict[str, Any]) -> bool:
    return "/dev/shm" in words(service.get("volumes")) + words(service.get("tmpfs"))


def _mib(size: Any) -> float:
    """`8gb`, `512m`, bytes; infinite if it cannot be read."""
    found = re.fullmatch(r"(?i)\s*([\d.]+)\s*([bkmg])?i?b?\s*", str(size))
    if not found:
        return float("inf")
    return (
        float(found[1])
        * {"": 1 / (1 << 20), "b": 1 / (1 << 20), "k": 1 / 1024, "m": 1, "g": 1024}[(found[2] or "").lower()]
    )
