"""The one module that builds install lines: what it prints for pip, uv and conda, and that nobody else builds any."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

from doctor.fixes.install import Install, conda_line, pip_line, uv_line, ways
from doctor.snapshot import Snapshot

from ..healthy import healthy

ROOT = Path(__file__).parents[2]
_LINE = re.compile(r"\bpip3? (?:un)?install\b|\buv (?:pip|venv)\b|\b(?:conda|mamba) (?:install|remove|create)\b|-m venv\b")
CU126 = "https://download.pytorch.org/whl/cu126"


def texts(path: Path) -> list[str]:
    """The string constants of a file that are no docstrings, f-strings' parts too."""
    tree = ast.parse(path.read_text("utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in prose)
    return [node.value for node in found if isinstance(node.value, str)]


def test_no_other_file_builds_an_install_line() -> None:
    """`pip install`, `uv pip`, `conda install` ... stand in no string of fixes, checks and the matrix but the module's."""
    files = [path for room in ("doctor/fixes", "doctor/checks", "doctor/findings", "doctor/commands", "compat_matrix")
             for path in (ROOT / room).rglob("*.py") if path.name != "install.py"]  # fmt: skip
    found = {str(path.relative_to(ROOT)): [text for text in texts(path) if _LINE.search(text)] for path in files}
    assert {path: lines for path, lines in found.items() if lines} == {}
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
    built = Install(packages=("x",), again=("x",), deps=False, isolated=False, cache=False, from_source=("x",),
                    variables=(("TORCH_CUDA_ARCH_LIST", "8.0;9.0"),))  # fmt: skip
    assert pip_line(built).startswith("TORCH_CUDA_ARCH_LIST='8.0;9.0' pip install --force-reinstall --no-deps ")
    assert "--no-build-isolation --no-cache --no-binary x x" in uv_line(built)


def test_every_part_is_quoted_for_a_shell() -> None:
    odd = Install(packages=("jax[cuda12]", "x @ https://a.example/x y.whl", "numpy<2"), find_links="/opt/my wheels",
                  variables=(("CMAKE_ARGS", "-D A=on"),))  # fmt: skip
    for line in (pip_line(odd), uv_line(odd)):
        words = shlex.split(line)
        assert {"jax[cuda12]", "x @ https://a.example/x y.whl", "numpy<2", "/opt/my wheels", "CMAKE_ARGS=-D A=on"} < set(words)
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
