"""Settings of torch.backends as each generation of torch answers for them."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest

from doctor.patient.torch_settings import backend, set_tf32, set_to, setting

from ..rows import for_each
from ..samples import ROOT

HELPER = Path("doctor/patient/torch_settings.py")


class Before20:
    """torch 1.13: an unknown name is an AssertionError, which hasattr lets pass (torch/backends/cuda/__init__.py)."""

    def __init__(self) -> None:
        self.__dict__["kept"] = {"allow_tf32": True}

    def __getattr__(self, name: str) -> object:
        assert name in self.kept, "Unknown attribute " + name
        return self.kept[name]

    def __setattr__(self, name: str, value: object) -> None:
        assert name in self.kept, "Unknown attribute " + name
        self.kept[name] = value


class Renamed:
    """A torch that has dropped allow_tf32."""

    fp32_precision = "tf32"

    def __setattr__(self, name: str, value: object) -> None:
        if name == "allow_tf32":
            raise RuntimeError("use fp32_precision")
        super().__setattr__(name, value)


def test_a_setting_that_is_not_there_is_none() -> None:
    old = Before20()
    with pytest.raises(AssertionError):
        hasattr(old, "allow_bf16_reduced_precision_reduction")
    assert setting(old, "allow_bf16_reduced_precision_reduction") is None
    assert set_to(old, "allow_bf16_reduced_precision_reduction", False) is False
    assert set_to(old, "allow_tf32", False) is True and setting(old, "allow_tf32") is False


def test_tf32_by_the_name_that_this_torch_has() -> None:
    old, renamed = Before20(), Renamed()
    set_tf32(old, False)
    set_tf32(renamed, False)
    assert (setting(old, "allow_tf32"), renamed.fp32_precision) == (False, "ieee")
    with pytest.raises(RuntimeError, match="cannot be switched off"):
        set_tf32(object(), False)


def test_an_object_of_backends_that_is_not_there_is_none() -> None:
    old = SimpleNamespace(backends=SimpleNamespace(cuda=Before20()))
    assert backend(old, "cuda") is old.backends.cuda
    assert backend(old, "cuda", "matmul") is None and backend(old, "cudnn", "conv") is None
    with pytest.raises(AttributeError, match="backends"):
        backend(SimpleNamespace())
    with pytest.raises(RuntimeError, match="cannot be switched on"):
        set_tf32(backend(old, "cuda", "matmul"), True)


def past_the_helper(source: str) -> list[int]:
    """Lines that ask an object of `torch.backends` for a name themselves: a chain of attributes, getattr and the like on
    one, an import of one, or any of these on a name that `backend` or such a chain was given to."""
    tree = ast.parse(source)
    theirs = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.comprehension))
        and _is_of_backends(node.iter if isinstance(node, (ast.For, ast.comprehension)) else node.value)
        for target in ast.walk(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        if isinstance(target, ast.Name)
    }
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (_ends_in_backends(node.value) or _named(node.value, theirs)):
            lines.append(node.lineno)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
            "getattr",
            "hasattr",
            "setattr",
            "vars",
            "dir",
        ):
            if any(_is_of_backends(part) or _named(part, theirs) for part in node.args[:1]):
                lines.append(node.lineno)
        elif (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch.backends")) or (
            isinstance(node, ast.Import) and any(one.name.startswith("torch.backends") for one in node.names)
        ):
            lines.append(node.lineno)
    return sorted(set(lines))


def _ends_in_backends(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "backends"


def _is_of_backends(node: ast.AST | None) -> bool:
    """Whether `.backends`, or what `backend` returns, is in it outside another call."""
    if node is None:
        return False
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") == "backend"
    return _ends_in_backends(node) or any(_is_of_backends(part) for part in ast.iter_child_nodes(node))


def _named(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


@for_each(
    "source",
    [
        "set_tf32(torch.backends.cuda.matmul, on)",
        "for one in (torch.backends.cuda.matmul, torch.backends.cudnn):\n    set_tf32(one, False)",
        "self.ask('cudnn_version', torch.backends.cudnn.version)",
        "matmul = backend(torch, 'cuda', 'matmul')\nmatmul.allow_tf32 = False",
        "hasattr(backend(torch, 'cudnn'), 'conv')",
        "backends = torch.backends\ngetattr(backends, 'mps')",
        "if (found := backend(torch, 'cuda')):\n    found.preferred_linalg_library()",
        "with_it = [one.enabled for one in (torch.backends.mkldnn,)]",
        "from torch.backends import cudnn",
        "import torch.backends.mps",
    ],
)
def test_the_next_access_past_the_helper_is_found(source: str) -> None:
    assert past_the_helper(source), source


@for_each(
    "source",
    [
        "matmul = backend(torch, 'cuda', 'matmul')\nset_to(matmul, 'allow_tf32', False)",
        "value = setting(backend(torch, 'cudnn'), 'enabled')",
        "getattr(torch.version, 'hip', None)",
        "kind = setting(matmul, 'fp32_precision')\nkind.lower()",
    ],
)
def test_the_helper_is_not_found(source: str) -> None:
    assert past_the_helper(source) == [], source


def test_every_access_to_torch_backends_is_the_helpers() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for folder in ("doctor", "gpudoctor", "benchmarks", "training", "scripts")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.relative_to(ROOT) != HELPER and "backends" in (text := path.read_text("utf-8", "replace"))
        if (lines := past_the_helper(text))
    }
    assert found == {}
