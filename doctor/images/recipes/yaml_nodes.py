"""Values in YAML documents with their lines."""

from __future__ import annotations

import re
from typing import Any

FETCHES = re.compile(r"(?i)wget|curl|\baws\b|gsutil|rclone|s5cmd|download|git clone|huggingface-cli")
"""A container that fetches a model needs no GPU, whatever its image."""


def line_of(node: Any, key: str | int | None = None) -> int:
    """Line from 1 on, of a mapping's key or a list's item, else of the node; 1 if unknown."""
    mark = getattr(node, "lc", None)
    try:
        if key is None or mark is None:
            return int(mark.line) + 1 if mark is not None else 1
        return int((mark.item(key) if isinstance(key, int) else mark.key(key))[0]) + 1
    except (KeyError, TypeError, AttributeError, IndexError):
        return int(mark.line) + 1 if mark is not None else 1


def at(node: Any, *keys: str) -> Any:
    """A value deep in mappings; None if something else is on the way."""
    for key in keys:
        node = node.get(key) if isinstance(node, dict) else None
    return node


def words(value: Any) -> str:
    """A command as text, whether it is written as a string or a list."""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def of_the_driver(path: str) -> bool:
    """Whether this folder or file on the host contains libraries of its NVIDIA driver."""
    return bool(re.search(r"nvidia|libcuda", path) and not re.search(r"^/(?:dev|run|var/run|var/lib/kubelet)\b", path))


def environment(value: Any) -> dict[str, tuple[str, int]]:
    """Name to (value, line): from compose's mapping or list, or Kubernetes' list of name and value."""
    found: dict[str, tuple[str, int]] = {}
    if isinstance(value, dict):
        for name in value:
            if value[name] is not None:  # without a value, compose uses the one from its own environment
                found[str(name)] = (str(value[name]), line_of(value, name))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            if isinstance(one, dict):
                if "value" in one or "valueFrom" not in one:
                    found[str(one.get("name"))] = (str(one.get("value", "")), line_of(value, number))
            else:
                name, equals, content = str(one).partition("=")
                if equals:
                    found[name] = (content, line_of(value, number))
    return found
