"""A YAML document as plain values, whose strings know their positions."""

from __future__ import annotations

import re
from typing import Any

from .lines import Span
from .reading import line_ends, number_at


class YamlText(str):
    """A scalar. place: without its anchor and tag; flow: it is part of `[a, b]`."""

    span = Span()
    flow = False


class YamlList(list[Any]):
    """A sequence. place: from its first '-' or bracket to its end."""

    span = Span()
    flow = False


def plain(root: Any, text: str) -> Any:
    """root: a ruamel.yaml node, bounded by whoever composed it; keys are strings; the last of duplicate keys wins."""
    ends = line_ends(text)

    def value(node: Any, flow: bool) -> Any:
        found: Any
        if isinstance(node.value, str):
            found = YamlText(node.value)
        elif (node.value and isinstance(node.value[0], tuple)) or node.tag == "tag:yaml.org,2002:map":
            return {
                str(key.value): value(one, flow or bool(node.flow_style))
                for key, one in node.value
                if isinstance(key.value, str)
            }
        else:
            found = YamlList(value(one, flow or bool(node.flow_style)) for one in node.value)
        start, end = node.start_mark.index, node.end_mark.index
        mark = re.compile(r"(?:[&!]\S*\s+)*").match(text, start, end)
        start = mark.end() if mark else start
        end = start + len(text[start:end].rstrip())
        found.span = Span(number_at(ends, start), str(found), (start, end))
        found.flow = flow
        return found

    return value(root, False)
