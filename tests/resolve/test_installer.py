"""Which torch an installer would choose today: one answer, for requirement files and Dockerfiles."""

from __future__ import annotations

import json
from pathlib import Path

from compat_matrix import Matrix
from compat_matrix.installer import installer_takes, nightly_ended
from compat_matrix.resolver import Question
from doctor.images.chosen import chosen
from doctor.images.installs import torch_installs
from doctor.resolve.dead import dead_lines
from doctor.resolve.files.requirements import read_requirements

from ..cli.command import gpudoctor
from ..rows import for_each

WHL = "https://download.pytorch.org/whl"


@for_each(
    ("installer", "specifier", "indexes", "python", "expected"),
    [
        ("pip", "", ("pypi",), "3.8", "2.4.1+cu121"),  # the newest that has a wheel for it
        ("pip", "", ("cu118", "pypi"), "3.8", "2.4.1+cu118"),  # the same version: the local one is higher
        ("pip", "<2.8", ("cu118", "pypi"), "3.12", "2.7.1+cu118"),
        ("pip", "<2.9", ("cu118", "pypi"), "3.12", "2.8.0+cu128"),
        ("uv", "<2.9", ("cu118", "pypi"), "3.12", "2.7.1+cu118"),  # the first index that has it
        ("uv", "==2.8.0", ("cu118", "pypi"), "3.12", ""),  # and no other, even if it fails there
        ("pip", "==1.10", ("cu111", "pypi"), "", "1.10.0+cu111"),
        ("pip", "==2.5.1", ("cpu", "pypi"), "3.12", "2.5.1+cpu"),
        ("pip", "==2.6.0", ("cu121", "pypi"), "3.12", "2.6.0+cu124"),
        ("pip", "==2.6.0", ("cu121",), "3.12", ""),
        ("pip", "", ("https://example.org/whl", "pypi"), "3.12", ""),
        ("pip", "==2.6.0+cu126", ("cu126",), "3.12", "2.6.0+cu126"),
    ],
)
def test_what_an_installer_takes(
    installer: str, specifier: str, indexes: tuple[str, ...], python: str, expected: str
) -> None:
    found = installer_takes(Matrix.load(), installer, specifier, indexes, "linux_x86_64", python)  # type: ignore[arg-type]
    assert (f"{found.torch}+{found.tag}" if found else "") == expected


@for_each(
    "options",
    ["", f"--extra-index-url {WHL}/cu118", f"--index-url {WHL}/cu128", f"-f {WHL}/cu126/torch_stable.html",
     f"--index-url {WHL}/cu126 --extra-index-url https://pypi.org/simple"],
)  # fmt: skip
@for_each("requirement", ["torch", "torch==2.7.1", "torch>=2.1,<2.8"])
def test_a_requirement_file_and_a_dockerfile_get_the_same_torch(options: str, requirement: str) -> None:
    m = Matrix.load()
    q = Question(gpus=("9.0",), driver="580.65.06", arch="x86_64", python="3.12")
    rows = options.replace(" --extra", "\n--extra")
    answer = dead_lines(m, q, read_requirements(f"{rows}\n{requirement}\n", "requirements.txt", q).lines)
    (one,) = torch_installs(f"pip install '{requirement}' {options}")
    one = chosen(m, one, "linux_x86_64", "3.12")
    assert answer.takes == f"{one.version}+{one.tag}"


def test_a_dead_line_names_the_installer_and_the_day(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(f"--extra-index-url {WHL}/cu128\ntorch\ntorchvision\n")
    done = gpudoctor("resolve", "-r", str(file), "--gpu", "RTX 5090", "--driver", "575", "--format", "json")
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)
    (dead,) = answer["dead"]
    assert dead["reason"].startswith(
        "pip chooses torch 2.15.0+cu132 from PyPI because it is the highest version on its indexes"
    )
    assert f"(as of {Matrix.load().version})" in dead["reason"] and "580.65.06" in dead["reason"]
    assert any(text.startswith("uv chooses torch 2.11.0+cu128 from the index cu128") for text in answer["unknown"])


def test_nightly_wheels_are_built_for_the_newest_release_s_cuda_alone() -> None:
    m = Matrix.load()
    assert nightly_ended(m, "cu121") == "2.5.1" and nightly_ended(m, "cu132") == "" == nightly_ended(m, "cu999")


def test_a_history_with_an_extra_index_leaves_the_build_of_an_open_torch_unknown() -> None:
    """An image that was built some day: pip took the highest version of that day."""
    commands = {
        f"pip install torch --extra-index-url {WHL}/cu118": "",
        f"pip install torch==2.5.1 --extra-index-url {WHL}/cu118": "cu118",
        f"pip install torch --index-url {WHL}/cu118": "cu118",
        f"uv pip install torch --extra-index-url {WHL}/cu118": "cu118",
    }
    for command, tag in commands.items():
        (one,) = torch_installs(command)
        assert one.tag == tag, command


@for_each(
    ("shell", "env", "indexes", "installer"),
    [
        ("UV_INDEX_STRATEGY=unsafe-best-match uv pip install torch", {}, ("pypi",), "pip"),
        ("uv pip install torch", {"UV_INDEX_STRATEGY": "unsafe-best-match"}, ("pypi",), "pip"),
        ("export UV_INDEX_STRATEGY=unsafe-first-match && uv pip install torch", {}, ("pypi",), "uv"),
        ("uv pip install torch --index-strategy first-index", {"UV_INDEX_STRATEGY": "unsafe-best-match"}, ("pypi",), "uv"),
        ("uv pip install torch", {"UV_TORCH_BACKEND": "cu128"}, ("cu128",), "uv"),
        ("uv pip install torch", {"UV_EXTRA_INDEX_URL": f"{WHL}/cu126 {WHL}/cpu"}, ("cu126", "cpu", "pypi"), "uv"),
        ("uv pip install torch", {"UV_INDEX": f"torch={WHL}/cu126"}, ("cu126", "pypi"), "uv"),
        ("uv pip install torch", {"UV_DEFAULT_INDEX": f"{WHL}/cu118"}, ("cu118",), "uv"),
        ("PIP_EXTRA_INDEX_URL=" + f"{WHL}/cu118 pip install torch", {}, ("cu118", "pypi"), "pip"),
        ("sudo PIP_INDEX_URL=" + f"{WHL}/cu118 pip install torch", {}, ("cu118",), "pip"),
        ("pip install torch", {"PIP_INDEX_URL": f"{WHL}/cu121"}, ("cu121",), "pip"),
        ("pip install torch -i https://pypi.org/simple", {"PIP_INDEX_URL": f"{WHL}/cu121"}, ("pypi",), "pip"),
        ("uv pip install torch", {"PIP_INDEX_URL": f"{WHL}/cu121"}, ("pypi",), "uv"),  # uv does not read pip's
        ("pip install torch", {"PIP_EXTRA_INDEX_URL": "$URL"}, ("pypi",), "pip"),
    ],
)  # fmt: skip
def test_variables_stand_for_options(shell: str, env: dict[str, str], indexes: tuple[str, ...], installer: str) -> None:
    (one,) = torch_installs(shell, env)
    assert (one.indexes, one.installer) == (indexes, installer)
    assert one.text in shell  # as it was run


def test_a_variable_of_a_dockerfile_counts(tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    answers = []
    for env in ("", f"ENV UV_EXTRA_INDEX_URL={WHL}/cu118\n", f"ENV PIP_EXTRA_INDEX_URL={WHL}/cu118\n"):
        file.write_text(f"FROM python:3.12-slim\nRUN pip install uv\n{env}RUN uv pip install --system torch\n")
        done = gpudoctor("dockerfile", str(file), "--driver", "535", "--gpu", "A100")
        answers.append(done.returncode)
    assert answers == [1, 0, 1]  # CUDA 13 of PyPI is too new for this driver
