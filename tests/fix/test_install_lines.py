"""The one module that builds install lines: what it prints for pip, uv and conda, and that nobody else builds any."""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace

from doctor.findings import Fix
from doctor.fixes.extensions import compiled
from doctor.fixes.install import Install, conda_line, pip_line, uv_line, ways
from doctor.fixes.torch import request_for
from doctor.snapshot import Distribution, EnvVar, Missing, Snapshot, known

from ..healthy import healthy
from ..judging import assert_fix_works, matrix, report
from ..torches import no_kernel_image, with_torch

ROOT = Path(__file__).parents[2]
_LINE = re.compile(
    r"\bpip3? (?:un)?install\b|\buv (?:pip|venv)\b|\b(?:conda|mamba) (?:install|remove|create)\b|-m venv\b"
)
CU126 = "https://download.pytorch.org/whl/cu126"


def texts(path: Path) -> list[str]:
    """The string constants of a file that are no docstrings, f-strings' parts too."""
    tree = ast.parse(path.read_text("utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in prose)
    return [node.value for node in found if isinstance(node.value, str)]


def _commands(data: object) -> list[str]:
    """Every `command` of the data that is a text."""
    if isinstance(data, list):
        return [command for one in data for command in _commands(one)]
    own = data.get("command") if isinstance(data, dict) else None
    return [own] if isinstance(own, str) else []


@pytest.mark.slow
def test_no_other_file_builds_an_install_line() -> None:
    """`pip install`, `uv pip`, `conda install` ... stand in no string of fixes, checks and the matrix but the module's."""
    files = [
        path
        for room in (
            "doctor/fixes",
            "doctor/text/fixes",
            "doctor/checks",
            "doctor/findings",
            "doctor/commands",
            "compat_matrix",
        )
        for path in (ROOT / room).rglob("*.py")
        if path.name != "install.py"
    ]
    found = {str(path.relative_to(ROOT)): [text for text in texts(path) if _LINE.search(text)] for path in files}
    assert {path: lines for path, lines in found.items() if lines} == {}
    lines = (ROOT / "doctor/text/catalogue.json").read_text("utf-8").splitlines()  # one row a line
    typed = [command for line in lines for command in _commands([json.loads(line)])]
    assert typed
    built = [command for command in typed if _LINE.search(command)]
    assert built == [], "the catalogue of messages has requests in its commands"
    assert any(_LINE.search(text) for text in texts(ROOT / "doctor/fixes/install.py")), "the test sees none at all"


def test_a_line_of_each_kind() -> None:
    torch = Install(packages=("torch==2.8.0+cu126", "torchvision>=0.23"), index=CU126)
    assert pip_line(torch) == f"pip install torch==2.8.0+cu126 'torchvision>=0.23' --index-url {CU126}"
    assert uv_line(torch) == f"uv pip install torch==2.8.0+cu126 'torchvision>=0.23' --default-index {CU126}"
    both = Install(packages=("torch==2.8.0+cu126", "xformers"), extra_index=CU126)
    assert pip_line(both) == f"pip install torch==2.8.0+cu126 xformers --extra-index-url {CU126}"
    assert f"--index {CU126} --index-strategy unsafe-best-match" in uv_line(both)
    anew = Install(packages=("torch==2.8.0",), again=("torch",))
    assert pip_line(anew) == "pip install --force-reinstall --no-deps torch==2.8.0 && pip install torch==2.8.0"
    assert uv_line(anew) == "uv pip install --reinstall-package torch torch==2.8.0"
    alone = Install(packages=("torchvision==0.23.0",), again=("torchvision",), deps=False)
    assert pip_line(alone) == "pip install --force-reinstall --no-deps torchvision==0.23.0"
    assert uv_line(alone) == "uv pip install --reinstall-package torchvision --no-deps torchvision==0.23.0"
    built = Install(
        packages=("x",),
        again=("x",),
        deps=False,
        isolated=False,
        cache=False,
        from_source=("x",),
        variables=(("TORCH_CUDA_ARCH_LIST", "8.0;9.0"),),
    )
    assert pip_line(built).startswith("TORCH_CUDA_ARCH_LIST='8.0;9.0' pip install --force-reinstall --no-deps ")
    assert "--no-build-isolation --no-cache --no-binary x x" in uv_line(built)


def test_a_build_from_source_takes_no_published_wheel() -> None:
    """Their setup.py looks for the project's wheel first, whatever pip was told: the one that lacks this GPU's code."""
    forced = "TORCH_CUDA_ARCH_LIST=12.0 FLASH_ATTENTION_FORCE_BUILD=TRUE pip install "
    assert pip_line(compiled("flash-attn", ["12.0"], "2.8.3")).startswith(forced)
    assert "FORCE_BUILD" not in pip_line(compiled("flash-attn", source=False)), "a wheel for this torch does as well"
    assert "FORCE_BUILD" not in pip_line(compiled("deepspeed", ["12.0"])), "it has no such switch"


def test_every_part_is_quoted_for_a_shell() -> None:
    odd = Install(
        packages=("jax[cuda12]", "x @ https://a.example/x y.whl", "numpy<2"),
        find_links="/opt/my wheels",
        variables=(("CMAKE_ARGS", "-D A=on"),),
    )
    for line in (pip_line(odd), uv_line(odd)):
        words = shlex.split(line)
        assert {
            "jax[cuda12]",
            "x @ https://a.example/x y.whl",
            "numpy<2",
            "/opt/my wheels",
            "CMAKE_ARGS=-D A=on",
        } < set(words)
    s = healthy().replace({"python.patient.prefix": "/opt/my envs/x", "python.patient.kind": "conda"})
    assert conda_line(s, ["libstdcxx-ng>=13"]) == (
        "conda install --yes --prefix '/opt/my envs/x' -c conda-forge 'libstdcxx-ng>=13'"
    )


def both(s: Snapshot) -> tuple[str, dict[str, str]]:
    found = ways(s, Install(packages=("torch==2.8.0",)))
    return found["command"], {other.tool: other.command for other in found["alternatives"]}


def test_one_way_is_printed_and_the_other_goes_along() -> None:
    command, others = both(healthy())
    assert command.startswith("/opt/venv/bin/python -m pip install ") and set(others) == {"uv"}
    assert both(healthy().replace({"host.provider": "colab"}))[1] == {}


def test_the_tool_is_the_one_in_use() -> None:
    uv = "uv pip install --python /opt/venv/bin/python "
    by_uv = tuple(replace(d, installer="uv") for d in known(healthy().python.distributions) or () if d.name != "pip")
    pip = Distribution(name="pip", version="26.3", location="/opt/venv", installer="uv")
    assert both(healthy().replace({"python.patient.kind": "uv"}))[0].startswith(uv), "pyvenv.cfg names uv"
    assert both(healthy().replace({"python.distributions": (*by_uv, pip)}))[0].startswith(uv), "INSTALLER says uv"
    empty, others = both(healthy(torch=False).replace({"python.distributions": ()}))
    assert empty.startswith(uv), "an empty environment has no pip: it is known to be empty"
    assert others["pip"].startswith("/opt/venv/bin/python -m ensurepip && /opt/venv/bin/python -m pip install ")
    unknown = healthy().replace({"python.distributions": Missing("denied")})
    assert both(unknown)[0].startswith("/opt/venv/bin/python -m pip install ")


def test_what_is_not_there_is_fetched_first() -> None:
    bare = healthy(torch=False).replace({"python.distributions": (), "python.patient.kind": "system"})
    own = "/opt/venv/bin/python -m "
    for facts, start in (
        ({"ensurepip": True, "uv": False}, f"{own}ensurepip && {own}pip install "),
        ({"ensurepip": True}, f"{own}ensurepip && {own}pip install "),
        ({"ensurepip": True, "uv": False, "kind": "uv"}, f"{own}ensurepip && {own}pip install "),
        ({"ensurepip": True, "uv": True}, "uv pip install "),
        ({"ensurepip": False, "uv": True}, "uv pip install "),
        (
            {"ensurepip": False, "uv": False},
            "curl -LsSf https://astral.sh/uv/install.sh | sh && export PATH=~/.local/bin:",
        ),
        ({}, "uv pip install "),
    ):
        changes = {f"python.{'' if name == 'uv' else 'patient.'}{name}": value for name, value in facts.items()}
        assert both(bare.replace(changes))[0].startswith(start), facts
    with_pip = healthy().replace({"python.patient.kind": "uv", "python.uv": False})
    assert both(with_pip)[0].startswith(f"{own}pip install "), "a copied environment of uv, without uv"


def dropped(version: str, tag: str, **changes: object) -> Fix:
    """The fix for a V100 whose torch has no code for it."""
    sick = no_kernel_image(with_torch(healthy("v100"), version, tag)).replace(changes)
    found = next(f for f in report(sick).findings if f.id == "torch-dropped-old-gpu-sm")
    assert_fix_works(sick, found)
    return found.fixes[0]


def test_the_same_version_of_another_build_is_asked_for_by_its_tag() -> None:
    """pip and uv take 2.11.0+cu130 for 2.11.0, and torch is never removed before the other one is there."""
    fix = dropped("2.11.0", "cu130")
    lines = [step.command for step in fix.steps]
    assert len(lines) == 1 and "uninstall" not in lines[0] and "With uv" not in fix.note
    assert "install torch==2.11.0+cu126 torchvision==0.26.0+cu126 " in lines[0]
    assert lines[0].endswith(f"--index-url {CU126}") or lines[0].endswith(f"--extra-index-url {CU126}")
    assert [other.tool for other in fix.steps[0].alternatives] == ["uv"]
    conda = tuple(replace(d, installer="conda") for d in known(healthy("v100").python.distributions) or ())
    torch_of_conda = dropped("2.11.0", "cu130", **{"python.distributions": conda})
    assert torch_of_conda.steps[0].command.startswith("conda install --yes --prefix /opt/venv -c conda-forge 'pytorch=")


def test_what_no_index_of_torch_carries_comes_from_the_default_one_in_the_same_line() -> None:
    """torchaudio has no pin on torch since 2.11: two indexes, torch by its local version."""
    s = with_torch(healthy("v100"), "2.11.0", "cu130")
    build = matrix().best_builds(["7.0"], "580.82.07", torch="2.11.0").builds[0]
    request = request_for(s, matrix(), build, ["torch", "torchvision", "torchaudio"], ["torch"])
    assert request.extra_index == CU126 and not request.index
    assert request.packages[0] == "torch==2.11.0+cu126" and request.packages[2].startswith("torchaudio==")


def test_an_index_of_cpu_builds_that_is_set_is_left_out() -> None:
    """It would be asked too: torch==2.10.0 is then its CPU build."""
    for tool, names in {
        "pip": ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"),
        "uv": ("UV_INDEX", "UV_DEFAULT_INDEX"),
    }.items():
        kind = {"python.patient.kind": "uv"} if tool == "uv" else {}
        for name in names:
            variable = EnvVar(name=name, value="https://download.pytorch.org/whl/cpu")
            s = healthy().replace({**kind, "host.environment": (variable,)})
            command = ways(s, Install(packages=("torch==2.10.0",)))["command"]
            assert command.startswith(f"{name}= "), command
