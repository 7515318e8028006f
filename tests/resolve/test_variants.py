"""Files with one torch for CPUs and one for GPUs: an edit of the one leaves the other byte for byte."""

from __future__ import annotations

from pathlib import Path

from ..cli.command import gpudoctor, one_line
from ..rows import for_each
from .projects import poetry_sources, uv_indexes

TAGS = {"pytorch-cpu": "cpu", "pytorch-cu118": "cu118"}
PROJECT = '[project]\nname = "x"\nversion = "0"\nrequires-python = ">=3.10"\n'
SOURCES = """
[tool.uv.sources]
torch = [
  {{ index = "pytorch-cpu", {word} = "cpu" }},
  {{ index = "pytorch-cu118", {word} = "gpu" }},
]
"""
CONFLICTS = '\n[tool.uv]\nconflicts = [[{{ {word} = "cpu" }}, {{ {word} = "gpu" }}]]\n'
LISTS = '\n[{table}]\ncpu = ["torch==2.4.1"]\ngpu = ["torch==2.4.1"]\n'


def _uv(table: str, word: str) -> str:
    return PROJECT + (LISTS + CONFLICTS + SOURCES).format(table=table, word=word) + uv_indexes(TAGS)


def _poetry(name: str) -> str:
    source = f'torch = {{ version = "2.4.1", source = "pytorch-{name}" }}\n'
    return f"\n[tool.poetry.group.{'cpu' if name == 'cpu' else 'gpu'}.dependencies]\n{source}"


POETRY = (
    '[tool.poetry]\nname = "x"\nversion = "0"\n\n[tool.poetry.dependencies]\npython = "^3.10"\n'
    + _poetry("cpu")
    + _poetry("cu118")
    + poetry_sources(TAGS)
)


def _exclusive(cpu: str, gpu: str) -> str:
    """Extras of Poetry that exclude each other by the markers of their sources."""
    entries = "".join(
        f'  {{ markers = "{marker}", source = "pytorch-{name}" }},\n' for marker, name in ((cpu, "cpu"), (gpu, "cu118"))
    )
    lists = LISTS.format(table="project.optional-dependencies")
    return f"{PROJECT}{lists}\n[tool.poetry.dependencies]\ntorch = [\n{entries}]\n{poetry_sources(TAGS)}"


PIXI = '[workspace]\nname = "x"\nchannels = ["conda-forge"]\nplatforms = ["linux-64"]\n' + "".join(
    f'\n[feature.{name}.pypi-dependencies]\ntorch = {{ version = "==2.4.1", index = "https://download.pytorch.org/whl/{tag}" }}\n'
    for name, tag in (("cpu", "cpu"), ("gpu", "cu118"))
)


@for_each(
    ("name", "text"),
    [
        ("pyproject.toml", _uv("project.optional-dependencies", "extra")),
        ("pyproject.toml", _uv("dependency-groups", "group")),
        ("pyproject.toml", POETRY),
        ("pyproject.toml", _exclusive("extra == 'cpu' and extra != 'gpu'", "extra == 'gpu' and extra != 'cpu'")),
        ("pyproject.toml", _exclusive("extra != 'gpu'", "extra == 'gpu' and sys_platform == 'linux'")),
        ("pyproject.toml", _exclusive("'cpu' == extra", "'gpu' == extra")),
        ("pixi.toml", PIXI),
    ],
)
def test_the_variant_for_cpus_stays(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text)
    done = gpudoctor("resolve", "-r", file, "--gpu", "RTX 5090", "--driver", "580", "--format", "edited")
    assert done.returncode == 1, done.stderr
    before = [row for row in text.splitlines() if "cpu" in row and "cu118" not in row]
    after = done.stdout.decode()
    assert before and [row for row in after.splitlines() if "cpu" in row and "cu128" not in row] == before
    assert "cu118" not in after and "cu128" in after


def test_another_dead_extra_is_named_and_stays(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    lists = '\n[project.optional-dependencies]\ntrain = ["torch==2.4.0", "xformers==0.0.27.post2"]\ninfer = ["torch==2.4.0"]\n'
    file.write_text(PROJECT + lists)
    words = ("resolve", "-r", file, "--gpu", "RTX 5090", "--driver", "580")
    assert "extra infer: line 8 cannot work here: torch==2.4.0" in gpudoctor(*words).stdout.decode()
    edited = gpudoctor(*words, "--format", "edited")
    assert edited.returncode == 1 and edited.stderr == b"extra infer: line 8 cannot work here: torch==2.4.0\n"
    assert b'infer = ["torch==2.4.0"]' in edited.stdout and b'train = ["torch==2.4.0"' not in edited.stdout


def test_an_extra_of_pypi_does_not_hide_that_of_cuda(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(
        '[project]\nname = "x"\nversion = "0"\n[project.optional-dependencies]\ncpu = ["torch==2.5.1"]\n'
        'cu124 = ["torch==2.5.1"]\n[tool.uv]\nconflicts = [[{ extra = "cpu" }, { extra = "cu124" }]]\n'
        '[tool.uv.sources]\ntorch = [{ index = "cu124", extra = "cu124" }]\n[[tool.uv.index]]\nname = "cu124"\n'
        'url = "https://download.pytorch.org/whl/cu124"\nexplicit = true\n'
    )
    done = gpudoctor("resolve", "-r", file, "--gpu", "RTX 5090", "--driver", "580", "--format", "edited")
    assert done.returncode == 1, done.stderr
    assert b'cpu = ["torch==2.5.1"]' in done.stdout and b'cu124 = ["torch==2.7.1"]' in done.stdout


def test_a_file_with_hashes_is_not_edited(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("torch==2.1.2 --hash=sha256:0\nnumpy==1.26.4 --hash=sha256:1\n")
    words = ("resolve", "-r", file, "--gpu", "RTX 5090", "--driver", "580")
    assert gpudoctor(*words).returncode == 1
    refused = gpudoctor(*words, "--format", "edited")
    assert refused.returncode == 2 and "uv pip compile" in one_line(refused)


@for_each(
    ("line", "dead"),
    [
        ("tensorflow==2.18.0", False),  # asks for no CUDA library
        ("tensorflow[and-cuda]==2.18.0", True),  # pins those of CUDA 12.5, torch those of 12.4
        ("tensorflow==2.10.0", False),
        ("jax==0.4.30", False),
    ],
)
def test_a_framework_without_its_cuda_extra_goes_with_any_torch(line: str, dead: bool, tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(f"torch==2.5.1\n{line}\n")
    done = gpudoctor("resolve", "-r", file, "--gpu", "RTX 3090", "--driver", "550", "--python", "3.10")
    assert done.returncode == int(dead), done.stdout
