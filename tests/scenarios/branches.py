"""Every branch of the builders of fixes, and which of them were taken: `if`, `else`, `x if c else y`, `a and b`, `a or b`.

The functions of a module are given the same code with a note at the beginning of each branch, and get their own back.
A branch is named by its function and its condition in words, so that its name stays where lines move.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import doctor.fixes

_NOTE = "__branch_taken__"


class _Noted(ast.NodeTransformer):
    """Puts a note into each branch; `names` are those of the branches in their order."""

    def __init__(self, module: str) -> None:
        self.module, self.function, self.names = module, "", []  # type: ignore[var-annotated]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer, self.function = self.function, self.function or node.name
        self.generic_visit(node)
        self.function = outer
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        if not self.function:  # imports for mypy alone
            return node
        test = ast.unparse(node.test)
        note, other = self._statement(f"if {test}"), self._statement(f"not {test}")
        self.generic_visit(node)
        node.body.insert(0, note)
        node.orelse.insert(0, other)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        test = ast.unparse(node.test)
        first, second = self._name(f"if {test}"), self._name(f"not {test}")
        self.generic_visit(node)
        node.body, node.orelse = _noted(first, node.body), _noted(second, node.orelse)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        word = "and" if isinstance(node.op, ast.And) else "or"
        names = [self._name(f"{word} {ast.unparse(value)}") for value in node.values[1:]]
        self.generic_visit(node)
        node.values[1:] = [_noted(name, value) for name, value in zip(names, node.values[1:], strict=True)]
        return node

    def _name(self, what: str) -> int:
        self.names.append(f"{self.module}.{self.function}: {what}")
        return len(self.names) - 1

    def _statement(self, what: str) -> ast.stmt:
        return ast.Expr(_noted(self._name(what), ast.Constant(None)))


def _noted(number: int, value: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(_NOTE, ast.Load()), [ast.Constant(number), value], [])


class Branches:
    """All branches of a package's functions, and how often each was taken while `watched`."""

    def __init__(self, package: types.ModuleType = doctor.fixes) -> None:
        self.taken: dict[str, int] = {}
        self._codes: list[tuple[types.FunctionType, types.CodeType, types.CodeType]] = []
        self._modules: list[tuple[types.ModuleType, Any]] = []
        self._kept: list[Any] = []
        for found in pkgutil.iter_modules(package.__path__):
            self._add(importlib.import_module(f"{package.__name__}.{found.name}"))

    def _add(self, module: types.ModuleType) -> None:
        path = Path(str(module.__file__))
        noted = _Noted(path.stem)
        tree = ast.fix_missing_locations(noted.visit(ast.parse(path.read_text("utf-8"))))
        names = noted.names
        self.taken.update(dict.fromkeys(names, 0))

        def note(number: int, value: Any) -> Any:
            self.taken[names[number]] += 1
            return value

        self._modules.append((module, note))
        codes = {code.co_name: code for code in compile(tree, str(path), "exec").co_consts if hasattr(code, "co_name")}
        for name, value in vars(module).items():
            function = getattr(value, "__wrapped__", value)
            if isinstance(function, types.FunctionType) and function.__module__ == module.__name__ and name in codes:
                self._codes.append((function, function.__code__, codes[name]))
                if hasattr(value, "cache_clear"):
                    self._kept.append(value)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While this lasts, branches that are taken are counted."""
        self._swap(noted=True)
        try:
            yield
        finally:
            self._swap(noted=False)

    def _swap(self, noted: bool) -> None:
        for module, note in self._modules:
            setattr(module, _NOTE, note)
        for function, own, other in self._codes:
            function.__code__ = other if noted else own
        for kept in self._kept:
            kept.cache_clear()
