"""Compose files and Kubernetes manifests: YAML with line numbers, parsed with ruamel.yaml."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...extra import extra_line
from .compose import compose_faults
from .instructions import Unparsed, template
from .kubernetes import kubernetes_faults
from .lint import Recipe

if TYPE_CHECKING:
    from ruamel.yaml.composer import Composer

_TEMPLATE = re.compile(
    r"\{\{-?\s*(?:\.(?:Values|Chart|Release|Files|Capabilities|Template)\b"
    r"|(?:include|template|range|if|with|end|define)\b)"
)
"""Helm's, which may be valid YAML all the same."""
_MAYBE = re.compile(r"(?m)(?:^[ ]{0,8}|[{,]\s*)[\"']?(?:apiVersion|services)[\"']?\s*:")
"""What every compose file or manifest has; other YAML need not be read."""
_MOST_DOCUMENTS = 500
_MOST_LINES = 50_000
_MOST_NODES = 50_000
"""Comments are not nodes, but are kept."""
_MOST_DEEP = 100
_MOST_OPEN = 500
"""Open brackets, including those in strings."""
_NODE_BYTES = 100
"""A string counts as one node per this many characters."""


def read_manifests(path: Path, text: str, folder: Path) -> Recipe:
    """All documents of a file; `folder`: what its paths are relative to. Raises Unparsed."""
    if _TEMPLATE.search(text):
        raise template(str(path), "helm template ... > FILE")
    if not _MAYBE.search(text):
        raise _neither(path)
    every = list(documents(text, str(path)))
    if any(isinstance(one, dict) and isinstance(one.get("services"), dict) for one in every):
        faults = [fault for one in every if isinstance(one, dict) for fault in compose_faults(one, folder)]
        kind = "compose"
    elif any(isinstance(one, dict) and one.get("kind") and one.get("apiVersion") for one in every):
        faults = list(kubernetes_faults([one for one in every if isinstance(one, dict)]))
        kind = "kubernetes"
    else:
        raise _neither(path)
    return Recipe(name=str(path), kind=kind, faults=tuple(sorted(faults, key=lambda fault: fault.line)))


def _neither(path: Path) -> Unparsed:
    words = "neither a compose file (services) nor a Kubernetes manifest (apiVersion, kind)"
    return Unparsed(f"{path}: {words}", other=True)


def documents(text: str, name: str) -> Iterator[Any]:
    """Each document in untrusted YAML, with lines, bounded. Raises Unparsed."""
    return _bounded(text, name, "load_all")


def nodes(text: str, name: str) -> Iterator[Any]:
    """Like `documents`, but each as its root node, whose marks give its position. Raises Unparsed."""
    return _bounded(text, name, "compose_all")


def _bounded(text: str, name: str, every: str) -> Iterator[Any]:
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
    except ImportError:
        raise Unparsed(f"YAML needs the ruamel.yaml package: {extra_line('image')}") from None
    if text.count("\n") > _MOST_LINES:
        raise Unparsed(f"{name}: more than {_MOST_LINES} lines: not judged")
    if _most_open(text) > _MOST_OPEN:  # parsing time grows with their square
        raise Unparsed(f"{name}: nested more than {_MOST_DEEP} levels deep: not judged")
    reader = YAML(typ="rt")
    reader.Composer = _counting(name)
    warnings.simplefilter("ignore")  # ruamel's, about anchors that are set twice
    reader.allow_duplicate_keys = True
    try:
        for number, document in enumerate(getattr(reader, every)(text)):
            if number >= _MOST_DOCUMENTS:
                raise Unparsed(f"{name}: more than {_MOST_DOCUMENTS} documents")
            yield document
    except YAMLError as error:
        if "{{" in text or "{%" in text:
            raise template(name, "helm template ... > FILE") from None
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark is not None else ""
        problem = str(getattr(error, "problem", "") or "it cannot be read").split("\n")[0]
        raise Unparsed(f"{name}{where}: not valid YAML: {problem[:120]}") from None
    except (RecursionError, ValueError, TypeError, AttributeError, KeyError):
        raise Unparsed(f"{name}: this YAML cannot be read") from None


def _most_open(text: str) -> int:
    most = depth = 0
    for found in re.finditer(r"[\[{\]}]", text):
        depth = depth + 1 if found[0] in "[{" else max(0, depth - 1)
        most = max(most, depth)
    return most


def _counting(name: str) -> type[Composer]:
    """A composer that counts nodes, with aliases fully expanded, before any value is built from them."""
    from ruamel.yaml.composer import Composer as RuamelComposer
    from ruamel.yaml.events import AliasEvent

    class Counting(RuamelComposer):
        total = open = 0

        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self.sizes: dict[str, int] = {}

        def compose_node(self, parent: Any, index: Any) -> Any:
            event, before = self.parser.peek_event(), self.total
            if isinstance(event, AliasEvent):
                if event.anchor in self.anchors and event.anchor not in self.sizes:
                    raise Unparsed(f"{name}: *{event.anchor[:40]} is an alias of a node that contains it")
                self.total += self.sizes.get(event.anchor, 1)
            else:
                self.sizes.pop(event.anchor, None)
                self.total += 1 + len(getattr(event, "value", "")) // _NODE_BYTES
            self.open += 1
            if self.open > _MOST_DEEP:
                raise Unparsed(f"{name}: nested more than {_MOST_DEEP} levels deep: not judged")
            if self.total > _MOST_NODES:
                raise Unparsed(f"{name}: more than {_MOST_NODES} nodes once aliases are expanded: not judged")
            node = super().compose_node(parent, index)
            self.open -= 1
            if event.anchor and not isinstance(event, AliasEvent):
                self.sizes[event.anchor] = self.total - before
            return node

    return Counting
