"""Kubernetes manifests: GPUs total for, shared memory, probes, variables, mounts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .bases import base_of
from .docker_rules import by_nvidia_smi
from .lint import Fault
from .yaml_nodes import FETCHES, at, environment, hidden, line_of, of_the_driver, words

_GPU = re.compile(r"nvidia\.com/(?:gpu|mig-[\w.-]+|gpu\.shared)")
_TRAINS = re.compile(r"(?i)torchrun|accelerate|deepspeed|train|num.?workers")


def kubernetes_faults(document: dict[str, Any]) -> Iterator[Fault]:
    """Of every pod in a document: a Pod, a template at any depth, items of a List."""
    for pod in _pods(document):
        yield from _pod(pod)


def _pods(node: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > 12:
        return
    if isinstance(node, dict):
        if isinstance(node.get("containers"), list):
            yield node
            return
        for value in node.values():
            yield from _pods(value, depth + 1)
    elif isinstance(node, list):
        for value in node:
            yield from _pods(value, depth + 1)


def _pod(pod: dict[str, Any]) -> Iterator[Fault]:
    total = 0
    containers = [(pod["containers"], n, one) for n, one in enumerate(pod["containers"]) if isinstance(one, dict)]
    claims = bool(pod.get("resourceClaims"))
    for within, number, one in containers:
        count = _quantity(one)
        total += count or 0
        name = str(one.get("name") or number)
        image = str(one.get("image") or "")
        command_line = f"{name} {words(one.get('command'))} {words(one.get('args'))}"
        if (
            count is None
            and not claims
            and base_of(image).gpu
            and "cpu" not in image
            and not FETCHES.search(command_line)
        ):
            line = line_of(one, "image")
            yield Fault(rule="container-without-gpu", line=line, detail=f"{name}: {image} with no nvidia.com/gpu.")
        yield from _quantities(name, one)
        yield from _probes(name, one)
        for variable, (value, line) in environment(one.get("env")).items():
            yield from hidden(variable, value, line)
            if variable == "NVIDIA_VISIBLE_DEVICES" and value.strip().lower() not in ("none", "void", ""):
                detail = f"{name}: {variable}={value} beside what the device plugin allots."
                yield Fault(rule="gpus-beside-the-scheduler", line=line, detail=detail)
        started = words(one.get("command")) + words(one.get("args")) + image
        shm = any("/dev/shm" in str(at(mount, "mountPath")) for mount in one.get("volumeMounts") or ())
        if count and not shm and (count > 1 or _TRAINS.search(started)):
            detail = f"{name}: {count} GPU{'s' if count > 1 else ''}, and nothing mounted at /dev/shm."
            yield Fault(rule="shared-memory-small", line=line_of(within, number), detail=detail)
    if total and not pod.get("runtimeClassName"):
        yield Fault(rule="runtime-class-not-set", line=line_of(pod, "containers"), detail="")
    for number, volume in enumerate(pod.get("volumes") or ()):
        path = str(at(volume, "hostPath", "path") or "")
        if of_the_driver(path):
            yield Fault(rule="driver-mounted-by-hand", line=line_of(pod["volumes"], number), detail=f"{path}.")


def _quantity(container: dict[str, Any]) -> int | None:
    """GPUs that it asks for; None for no word of GPUs, 0 where the number cannot be read."""
    found = None
    for kind in ("limits", "requests"):
        rows = at(container, "resources", kind)
        for key in rows if isinstance(rows, dict) else ():
            if _GPU.fullmatch(str(key)):
                text = str(rows[key])
                found = max(found or 0, int(text) if text.isdecimal() else 0)
    if found is None and at(container, "resources", "claims"):
        return 0
    return found


def _quantities(name: str, container: dict[str, Any]) -> Iterator[Fault]:
    limits, requests = (at(container, "resources", kind) for kind in ("limits", "requests"))
    for rows in (limits, requests):
        for key in rows if isinstance(rows, dict) else ():
            text = str(rows[key])
            if _GPU.fullmatch(str(key)) and not re.fullmatch(r"\d+|\{\{.*\}\}|\$.*", text):
                detail = (
                    f"{name}: {key} is {text!r}; GPUs are not divided (MIG and time-slicing have names of their own)."
                )
                yield Fault(rule="gpu-quantity-wrong", line=line_of(rows, key), detail=detail)
    for key in requests if isinstance(requests, dict) else ():
        if not _GPU.fullmatch(str(key)):
            continue
        if not isinstance(limits, dict) or key not in limits:
            detail = f"{name}: {key} stands in requests alone."
            yield Fault(rule="gpu-quantity-wrong", line=line_of(requests, key), detail=detail)
        elif str(limits[key]) != str(requests[key]):
            detail = f"{name}: requests {requests[key]} and limits {limits[key]} differ."
            yield Fault(rule="gpu-quantity-wrong", line=line_of(requests, key), detail=detail)


def _probes(name: str, container: dict[str, Any]) -> Iterator[Fault]:
    command = words(at(container, "livenessProbe", "exec", "command"))
    if re.search(r"nvidia-smi|gpudoctor|torch\.cuda|deviceQuery", command):
        line = line_of(container, "livenessProbe")
        yield Fault(rule="liveness-by-doctor", line=line, detail=f"{name}: {command[:80]}.")
    for kind in ("readinessProbe", "startupProbe"):
        if by_nvidia_smi(words(at(container, kind, "exec", "command"))):
            yield Fault(rule="healthcheck-by-nvidia-smi", line=line_of(container, kind), detail=f"{name}: {kind}.")
