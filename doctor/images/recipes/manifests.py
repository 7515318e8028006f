"""Compose files and Kubernetes manifests: YAML with its lines, by ruamel.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...extra import extra_line
from .compose import compose_faults
from .instructions import Unparsed
from .kubernetes import kubernetes_faults
from .lint import Recipe

_MOST_DOCUMENTS = 500
_MOST_ALIASES = 2000


def read_manifests(path: Path, text: str, folder: Path) -> Recipe:
    """All documents of a file; `folder`: what its paths are relative to. Raises Unparsed."""
    documents = list(_documents(text, str(path)))
    if any(isinstance(one, dict) and isinstance(one.get("services"), dict) for one in documents):
        faults = [fault for one in documents if isinstance(one, dict) for fault in compose_faults(one, folder)]
        kind = "compose"
    elif any(isinstance(one, dict) and one.get("kind") and one.get("apiVersion") for one in documents):
        faults = [fault for one in documents if isinstance(one, dict) for fault in kubernetes_faults(one)]
        kind = "kubernetes"
    else:
        raise Unparsed(f"{path}: neither a compose file (services) nor a Kubernetes manifest (apiVersion, kind)")
    return Recipe(name=str(path), kind=kind, faults=tuple(sorted(faults, key=lambda fault: fault.line)))


def _documents(text: str, name: str) -> Iterator[Any]:
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
    except ImportError:
        raise Unparsed(f"compose files and manifests need the package ruamel.yaml: {extra_line('image')}") from None
    if text.count("*") > _MOST_ALIASES and text.count("&") > 20:
        raise Unparsed(f"{name}: more than {_MOST_ALIASES} aliases")
    reader = YAML(typ="rt")
    reader.allow_duplicate_keys = True
    try:
        for number, document in enumerate(reader.load_all(text)):
            if number >= _MOST_DOCUMENTS:
                raise Unparsed(f"{name}: more than {_MOST_DOCUMENTS} documents")
            yield document
    except YAMLError as error:
        if "{{" in text:
            raise Unparsed(f"{name}: a template; what it makes can be judged: helm template ... > FILE") from None
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark is not None else ""
        problem = str(getattr(error, "problem", "") or "it cannot be read").split("\n")[0]
        raise Unparsed(f"{name}{where}: this is no YAML: {problem[:120]}") from None
    except (RecursionError, ValueError, TypeError, AttributeError, KeyError):
        raise Unparsed(f"{name}: this YAML cannot be read") from None
