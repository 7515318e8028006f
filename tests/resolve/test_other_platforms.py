"""`resolve -r` of files with another torch for another platform: an edit leaves what that platform reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_matrix.resolver import Question
from doctor.commands.read_lines import read_file
from doctor.resolve.files.by_platform import markers
from doctor.resolve.files.lines import Pinned, RequirementFile

from ..cli.command import gpudoctor, one_line
from ..rows import for_each
from .projects import poetry_sources, uv_indexes
from .test_edited import BLACKWELL, check, edited

PROJECT = '[project]\nname = "a"\nversion = "0"\nrequires-python = ">=3.10"\n'
TAGS = {"other": "cpu", "gpu": "cu118"}
UV, POETRY = uv_indexes(TAGS), poetry_sources(TAGS)
PYTHON = '[tool.poetry.dependencies]\npython = "^3.10"\n'
FORMS: list[tuple[str, str]] = [
    ("pyproject.toml", (
        PROJECT + 'dependencies = [\n  "torch==2.2.2",  # why\n  \'torchvision==0.17.2 ; python_version > "3"\',\n  "triton==2.2.0"\n]\n'
        "[tool.uv.sources]\ntorch = [\n  { index = \"other\", marker = \"sys_platform == 'win32'\" },\n"
        "  { index = \"gpu\", marker = \"sys_platform != 'win32'\" },\n]\n" + UV)),
    ("pyproject.toml", PROJECT + 'dependencies = ["torch==2.2.2 ; sys_platform == \'win32\'", "torch==2.2.2 ; os_name != \'nt\'", "torchvision==0.17.2"]\n'),
    ("pyproject.toml", PYTHON + (
        'torch = [\n  { version = "2.2.2", platform = "win32" },\n  { version = "2.2.2", platform = "linux", source = "gpu" },\n]\n'
        'torchvision = "0.17.2"\ntorchaudio = { version = "2.2.2", markers = "python_version > \'3\'" }  # why\ntriton = "2.2.0"\n') + POETRY),
    ("pyproject.toml", PYTHON + (
        'torchvision = [\n  { version = "0.17.2", markers = "python_version > \'3\'" },\n]\n'
        'torch = [\n  { version = "2.2.2", platform = "win32" },\n  { version = "2.2.2", markers = "sys_platform == \'linux\'" },\n]\n')),
    ("requirements.txt", 'torch==2.2.2 ; sys_platform == "win32"\ntorch==2.2.2 ; sys_platform != "win32"\ntorchvision==0.17.2  # why\ntriton==2.2.0 --config-settings=a=b\n'),
    ("setup.cfg", (
        '[options]\ninstall_requires =\n    torch==2.2.2; sys_platform == "win32"\n    torch==2.2.2; sys_platform == "linux"\n'
        "    torchvision==0.17.2\n[options.extras_require]\nx =\n    torchaudio==2.2.2\n")),
    ("environment.yml", 'dependencies:\n- pip:\n  - torch==2.2.2 ; sys_platform == "win32"\n  - torch==2.2.2 ; sys_platform == "linux"\n  - "torchvision==0.17.2"\n'),
    ("environment.yml", "dependencies: [pip: [torch==2.2.2 ; os_name == 'nt', torch==2.2.2 ; os_name != 'nt', torchvision==0.17.2]]\n"),
    ("pixi.toml", (
        '[workspace]\nchannels = ["conda-forge"]\nplatforms = ["linux-64", "win-64"]\n[dependencies]\npytorch = "2.2.2"\n'
        '[feature.x.pypi-dependencies]\ntorchaudio = "==2.2.2"\n[target.linux-64.dependencies]\nnumpy = "*"\n')),
    ("pixi.toml", '[project]\nchannels = ["conda-forge"]\nplatforms = ["linux-64", "win-64"]\n[pypi-dependencies]\ntorch = "==2.2.2"\ntorchvision = "==0.17.2"\n'),
    ("pyproject.toml", (
        '[project]\nname = "a"\ndependencies = ["numpy"]\n[tool.pixi.workspace]\nplatforms = ["linux-64", "win-64"]\nchannels = ["conda-forge"]\n'
        '[tool.pixi.pypi-dependencies]\ntorch = "==2.2.2"\n')),
]  # fmt: skip
WINDOWS = Question(gpus=("12.0",), driver="575.51", os="windows")


def read(name: str, text: str) -> list[tuple[str, str, str]]:
    """What Windows reads: package, version, and the index of its own, of each line; one more index is for all lines."""

    def parts(file: RequirementFile | None) -> list[Pinned]:
        return [*file.lines, *parts(file.pip)] if file else []

    return [
        (one.name, one.wish.specifier.lstrip("="), one.local * name.endswith("toml"))
        for one in parts(read_file(name, text, WINDOWS))
    ]


@for_each(("name", "text"), FORMS, quick=4)
def test_the_other_platform_reads_what_it_read(
    name: str, text: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    code, after = edited(tmp_path / name, text.encode(), BLACKWELL, capsysbinary)
    assert code == 1 and read(name, text) and read(name, after.decode()) == read(name, text), after.decode()


@for_each(("name", "text"), FORMS, quick=4)
def test_such_a_file_keeps_what_every_edited_file_promises(
    name: str, text: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    check(name, text, BLACKWELL, tmp_path, capsysbinary)


def test_what_cannot_be_split_is_refused(tmp_path: Path) -> None:
    """PDM has one index for all platforms; a table of its own in Poetry has no place for a second entry."""
    pdm = (
        PROJECT
        + "dependencies = [\"torch==2.2.2 ; sys_platform == 'win32'\", \"torch==2.2.2 ; sys_platform == 'linux'\"]\n[tool.pdm]\n"
    )
    torch = '[{ version = "2.2.2", platform = "win32" }, { version = "2.2.2", platform = "linux" }]'
    poetry = f'{PYTHON}torch = {torch}\n[tool.poetry.dependencies.torchvision]\nversion = "0.17.2"\n'
    for text, why in (
        (pdm, "PDM uses one torch index for all platforms, and the file has a different torch"),
        (poetry, "also applies to other platforms"),
    ):
        (tmp_path / "pyproject.toml").write_text(text)
        words = ("resolve", "-r", tmp_path / "pyproject.toml", "--gpu", "RTX 5090", "--driver", "575")
        refused = gpudoctor(*words, "--format", "edited")
        assert refused.returncode == 2 and why in one_line(refused) and gpudoctor(*words).returncode == 1


def test_the_markers_of_both_sides() -> None:
    arm, x86 = ("linux", "aarch64"), ("linux", "x86_64")
    assert markers({("win32", "AMD64")}) == ("sys_platform != 'win32'", "sys_platform == 'win32'")
    assert markers({arm, x86})[1] == "sys_platform == 'linux'"
    assert markers({arm})[0] == "sys_platform != 'linux' or platform_machine != 'aarch64'"
    assert markers({arm, ("win32", "AMD64")})[0] == (
        "(sys_platform != 'linux' or platform_machine != 'aarch64') and sys_platform != 'win32'"
    )
