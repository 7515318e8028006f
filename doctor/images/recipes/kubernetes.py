"""Kubernetes manifests: requested GPUs, shared memory, probes, variables, mounts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .bases import base_of
from .cluster import is_known
from .docker_rules import by_nvidia_smi
from .lint import Fault
from .parallel import too_few
from .tags import published
from .variables import variable_faults
from .yaml_nodes import FETCHES, at, environment, line_of, of_the_driver, words

_TRAINS = re.compile(r"(?i)torchrun|accelerate|deepspeed|train|num.?workers")

_ALONE = ("Pod", "Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Job", "CronJob")
"""Kinds whose pods do not know about each other's GPUs."""


def kubernetes_faults(documents: list[dict[str, Any]]) -> Iterator[Fault]:
    """Problems in every pod in a file's documents: a Pod, a template at any depth, items of a List."""
    pods = [found for document in documents for found in _pods(document, str(document.get("kind") or ""))]
    named = any(pod.get("runtimeClassName") for pod, _, _ in pods)
    for pod, kind, replica in pods:
        yield from _pod(pod, kind, replica, named)


def _pods(node: Any, kind: str, key: str = "", depth: int = 0) -> Iterator[tuple[dict[str, Any], str, str]]:
    """(pod, kind of what it belongs to, the name that its replica has there)."""
    if depth > 12:
        return
    if isinstance(node, dict):
        if isinstance(node.get("containers"), list):
            yield node, kind, key
            return
        kind = str(node.get("kind") or kind)
        for name, value in node.items():
            yield from _pods(value, kind, key if name in ("template", "spec") else str(name), depth + 1)
    elif isinstance(node, list):
        for value in node:
            yield from _pods(value, kind, key, depth + 1)


def _pod(pod: dict[str, Any], kind: str, replica: str, named: bool) -> Iterator[Fault]:
    """named: another pod in this file names a runtime class, so the cluster's default is a different one."""
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
            and not (is_known("image", image) or is_known("replica", replica))
            and not FETCHES.search(command_line)
        ):
            line = line_of(one, "image")
            yield Fault(
                rule="container-without-gpu",
                line=line,
                detail=f"{name}: {image} runs without requesting nvidia.com/gpu.",
            )
        yield from published(image, line_of(one, "image"))
        yield from _quantities(name, one)
        yield from _probes(name, one)
        for variable, (value, line) in environment(one.get("env")).items():
            if count or variable != "NVIDIA_VISIBLE_DEVICES":  # with void, a pod without GPUs asks for none
                yield from variable_faults(variable, value, line, base_of(image).nvcc)
            watches = kind == "DaemonSet" and count is None  # such as an exporter of metrics
            if (
                variable == "NVIDIA_VISIBLE_DEVICES"
                and value.strip().lower() not in ("none", "void", "")
                and not watches
            ):
                detail = f"{name}: {variable}={value} is set in addition to the GPUs that the device plugin allocates."
                yield Fault(rule="gpus-beside-the-scheduler", line=line, detail=detail)
        started = words(one.get("command")) + words(one.get("args")) + image
        shm = any("/dev/shm" in str(at(mount, "mountPath")) for mount in one.get("volumeMounts") or ())
        if count and not shm and not is_known("shm", kind) and (count > 1 or _TRAINS.search(started)):
            detail = f"{name}: {count} GPU{'s' if count > 1 else ''}, but nothing is mounted at /dev/shm."
            yield Fault(rule="shared-memory-small", line=line_of(within, number), detail=detail)
        if kind in _ALONE:
            yield from too_few(name, command_line, count, line_of(within, number))
    if total and named and not pod.get("runtimeClassName"):
        yield Fault(rule="runtime-class-not-set", line=line_of(pod, "containers"), detail="")
    for number, volume in enumerate(pod.get("volumes") or ()):
        path = str(at(volume, "hostPath", "path") or "")
        if of_the_driver(path) and not is_known("folder", path):
            yield Fault(rule="driver-mounted-by-hand", line=line_of(pod["volumes"], number), detail=f"{path}.")


def _quantity(container: dict[str, Any]) -> int | None:
    """Number of GPUs that it asks for; None if it does not mention GPUs, 0 if the number cannot be read."""
    found = None
    for kind in ("limits", "requests"):
        rows = at(container, "resources", kind)
        for key in rows if isinstance(rows, dict) else ():
            text = str(rows[key])
            if is_known("resource", str(key)):
                found = max(found or 0, int(text) if text.isdecimal() else 0)
            elif is_known("part", str(key)):
                found = found or 0
    if found is None and at(container, "resources", "claims"):
        return 0
    return found


def _quantities(name: str, container: dict[str, Any]) -> Iterator[Fault]:
    limits, requests = (at(container, "resources", kind) for kind in ("limits", "requests"))
    for rows in (limits, requests):
        for key in rows if isinstance(rows, dict) else ():
            text = str(rows[key])
            if is_known("resource", str(key)) and not re.fullmatch(r"\d+|\{\{.*\}\}|\$.*", text):
                detail = (
                    f"{name}: {key} is {text!r}; GPUs cannot be divided (MIG and time-slicing have their own names)."
                )
                yield Fault(rule="gpu-quantity-wrong", line=line_of(rows, key), detail=detail)
    for key in requests if isinstance(requests, dict) else ():
        if not is_known("resource", str(key)):
            continue
        if not isinstance(limits, dict) or key not in limits:
            detail = f"{name}: {key} is set only in requests."
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
