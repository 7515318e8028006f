"""Who can open the GPU's device nodes: `ls -l /dev/nvidia*` together with `id` or `groups`."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.lazy import lazy
from .statement import Line, Statement, say

_NODE = lazy(
    r"\s{0,8}c([r-][w-][\w-])([r-][w-][\w-])([r-][w-][\w-])([.+@]?)\s{1,4}\d{1,4}\s{1,8}(\S{1,40})\s{1,8}(\S{1,40})"
    r"\s{1,8}\d{1,4},\s{0,8}\d{1,6}\s.{0,40}?(?:/dev/)?(nvidia(?:\d{1,3}|ctl|-uvm))\s{0,4}$"
)
_ID = lazy(r"\buid=(\d{1,10})\(([\w.-]{1,40})\)\s{1,4}gid=\d{1,10}(?:\([\w.-]{1,40}\))?\s{1,4}groups=(.{1,800})")
_GROUP = lazy(r"\d{1,10}\(([\w.@ -]{1,60}?)\)")


def read_node_modes(lines: list[Line]) -> Iterator[Statement]:
    """`raised.nodes-not-for-all` where a mode keeps others out, `raised.nodes-closed` where it keeps this user out.

    The user is known by `id` alone. Where one GPU is open to all, the others are somebody else's.
    """
    closed: list[tuple[Line, str, str, bool]] = []
    users: dict[str, set[str]] = {}
    open_gpu = False
    for line in lines:
        text = line.text
        if "nvidia" in text and (node := _NODE.match(text)):
            if node[3].startswith("rw"):
                open_gpu = open_gpu or node[7][6:].isdecimal()
            elif node[4] != "+":  # a list of rights beside the mode may let the user in
                closed.append((line, node[5], node[6], node[2].startswith("rw")))
        elif "uid=" in text and (user := _ID.search(text)):
            users[user[2]] = set(_GROUP.findall(user[3]))
            if user[1] == "0":
                return
    if not closed or open_gpu:
        return
    line = closed[0][0]
    for name, groups in users.items() if len(users) == 1 else ():
        if any(owner == name or (by_group and group in groups) for _, owner, group, by_group in closed):
            return
        yield say("raised.nodes-closed", True, line)
    yield say("raised.nodes-not-for-all", True, line)
