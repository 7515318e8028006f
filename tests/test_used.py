"""Every function, class and constant of the product is used by the product: nothing is kept alive by its tests alone.

Read from the syntax trees: what a file does when it is imported or run is the start, and everything that a used
function or class names is used too. A name is followed through imports and packages to the file that defines it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from .test_imports import sources, tree

Definition = tuple[str, str]
"""(file, name), such as ("doctor/formats/elf.py", "parse_elf"); the name is "" where the file itself is meant."""

BY_NAME: dict[str, str] = {
    "doctor/checks/*.py:check": "judge/registry.py runs this function of every check's file",
    "doctor/text/*.py:read_*": "text/tools.json names the readers",
    "doctor/text/grammar/*.py:read_*": "text/text.py names them",
    "doctor/commands/*.py:*": "cli.py imports the file of a subcommand when it is called",
    "doctor/images/layers/tree.py:TreeTools": "the gatherer is handed it as its tools",
    "doctor/targets/assembled.py:assembled": "the door that an agent leaves by for another machine",
    "doctor/text/fixes/*.py:FIXES": "text/fixes/offer.py imports these files by name",
    "doctor/text/ranker.py:FORMAT": "training/ranker_fit.py writes it into the file",
    "doctor/text/text.py:heard": "training/ranker_cases.py asks it: the ranker learns from what it is given later",
    "doctor/text/operators.py:fault": "training/catalogue.py asks it of each condition when the catalogue is built",
    "doctor/probes/tools.py:*": "the gatherer is handed the file as its tools",
    "doctor/fleet/engines/*.py:*": "commands/fleet_run.py imports the engine that the user names",
    "gpudoctor/__init__.py:*": "Python calls __getattr__ and __dir__ of a module",
    "gpudoctor/_mcp.py:*": "the SDK of MCP calls its handlers",
    "gpudoctor/_face.py:*": "gpudoctor/__init__.py gives it out by name",
    "gpudoctor/_values.py:*": "gpudoctor/__init__.py gives it out by name",
    "doctor/patient/agent_boot.py:*": "called by name in the boot lines of targets/process.py",
}
"""Definitions that are looked up by a string, and where."""
PUBLIC = "compat_matrix/__init__.py"
"""What this package exports is for others to use."""


class File:
    """What one file defines, what each definition names (`names`), and what its other lines name (`own`)."""

    def __init__(self, path: str, known: dict[str, str]) -> None:
        parsed = tree(path)
        self.path = path
        self.imported: dict[str, set[Definition]] = {}
        for node in ast.walk(parsed):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    found = _target(path, node, alias.name, known)
                    self.imported.setdefault(alias.asname or alias.name, set()).update(found)
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        self.lines = {node.name: node.lineno for node in parsed.body if isinstance(node, kinds)}
        self.lines |= {name: node.lineno for node in parsed.body for name in _constants(node)}
        self.names = {node.name: list(self._named(node)) for node in parsed.body if isinstance(node, kinds)}
        rest = [node for node in parsed.body if not isinstance(node, (*kinds, ast.ImportFrom))]
        self.own = [found for node in rest if path == PUBLIC or not _is_all(node) for found in self._named(node)]

    def _named(self, node: ast.AST) -> Iterator[Definition]:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
                yield from self.means(inner.id)
            elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
                yield from ((file, inner.attr) for file, name in self.imported.get(inner.value.id, ()) if not name)
            elif isinstance(inner, ast.Constant) and isinstance(inner.value, str) and inner.value.isidentifier():
                yield from self.means(inner.value)  # an annotation in quotes

    def means(self, name: str) -> set[Definition]:
        """What a name of this file stands for: what it imports, and what it defines itself."""
        return self.imported.get(name, set()) | ({(self.path, name)} if name in self.lines else set())


def _target(path: str, node: ast.ImportFrom, name: str, known: dict[str, str]) -> set[Definition]:
    words = list(Path(path).parent.parts)
    words = words[: len(words) - node.level + 1] if node.level else []
    module = ".".join([*words, *(node.module.split(".") if node.module else [])])
    inner = known.get(f"{module}.{name}")  # `from ..findings import told`: the function, or the file of that name
    return {(inner, ""), (known.get(module, ""), name)} if inner else {(known.get(module, ""), name)}


def _constants(node: ast.AST) -> list[str]:
    """The names that a line of a module gives to a value, but for those that Python itself reads."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    inner = (one for target in targets for one in ast.walk(target))
    return [one.id for one in inner if isinstance(one, ast.Name) and one.id[:2] != "__"]


def _is_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)


def unused(paths: list[str]) -> list[str]:
    """`file:line name` of every definition that nothing in these files leads to."""
    known = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in paths}
    files = {path: File(path, known) for path in paths}
    todo = [found for file in files.values() for found in file.own]
    todo += [(path, name) for path, file in files.items() for name in file.lines if _by_name(path, name)]
    seen: set[Definition] = set()
    while todo:
        path, name = todo.pop()
        if (path, name) not in seen and path in files:
            seen.add((path, name))
            todo += [*files[path].names.get(name, ()), *(files[path].means(name) - {(path, name)})]
    return [
        f"{path}:{file.lines[name]} {name}"
        for path, file in files.items()
        for name in file.lines
        if (path, name) not in seen
    ]


def _by_name(path: str, name: str) -> bool:
    return any(Path(f"{path}:{name}").match(pattern) for pattern in BY_NAME)


@pytest.mark.slow
def test_nothing_is_kept_alive_by_its_tests_alone() -> None:
    assert unused([str(path) for path in sources()]) == []


def test_every_reason_is_needed() -> None:
    paths = [str(path) for path in sources()]
    for pattern in BY_NAME:
        assert any(Path(path).match(pattern.partition(":")[0]) for path in paths), f"no file is meant by {pattern}"


CALLED_BY_OTHERS = {
    "the reader of layers": ("open_layer",),
    "click": ("list_commands", "get_command", "format_commands", "format_options"),
    "whoever imports gpudoctor": ("ok", "best", "to_dict", "to_json", "to_markdown", "to_text", "to_html"),
    "a notebook": ("_repr_html_",),
    "the import system": ("find_spec", "set_data"),
    "html.parser": ("handle_starttag", "handle_endtag", "handle_data"),
    "ClusterShell": ("ev_pickup", "ev_read", "ev_hup", "ev_msg"),
    "zipfile": ("seekable", "readinto", "tell"),
}
"""Methods that override those of a library, by who calls them."""


@pytest.mark.slow
def test_every_method_is_named_somewhere_in_the_product() -> None:
    named: set[str] = {name for names in CALLED_BY_OTHERS.values() for name in names}
    methods: dict[str, str] = {}
    for path in sources():
        for node in ast.walk(tree(str(path))):
            if isinstance(node, ast.Attribute):
                named.add(node.attr)
            elif isinstance(node, ast.ClassDef):
                inner = (item for item in node.body if isinstance(item, ast.FunctionDef))
                methods.update({item.name: f"{path}:{item.lineno}" for item in inner if item.name[:2] != "__"})
    assert len(methods) > 100
    assert {name: place for name, place in methods.items() if name not in named} == {}


READ_BY_OTHERS = ("__all__", "__version__")


@pytest.mark.slow
def test_every_constant_is_read_by_the_product() -> None:
    """A private one by its own file, any other by some file."""
    read: dict[str, set[str]] = {}
    constants = []
    for path in map(str, sources()):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                read.setdefault(node.id, set()).add(path)
            elif isinstance(node, ast.Attribute):
                read.setdefault(node.attr, set()).add(path)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    read.setdefault(alias.name, set()).add(path)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                read.setdefault(node.value, set()).add(path)  # getattr, or an annotation in quotes
        for node in tree(path).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = (one.id for target in targets if target for one in ast.walk(target) if isinstance(one, ast.Name))
            constants += [(path, name) for name in names if name not in READ_BY_OTHERS]
    assert len(constants) > 500
    unread = [c for c in constants if not (c[0] in read.get(c[1], ()) if c[1][0] == "_" else read.get(c[1]))]
    assert unread == []
