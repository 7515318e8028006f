"""The direction of imports (DESIGN, rooms from the ground up), read from the source of every file."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from .rows import for_each

ROOT = Path(__file__).parent.parent
STDLIB = frozenset(sys.stdlib_module_names)

MAY_IMPORT: dict[str, set[str]] = {
    "doctor/formats": set(),
    "compat_matrix": {"packaging", "msgspec"},
    "doctor/snapshot": {"doctor/formats", "compat_matrix", "msgspec"},
    "doctor/findings": {"doctor/formats", "doctor/snapshot", "msgspec"},
    "doctor/patient": set(),
    "doctor/targets": set(),
    "doctor/probes": {"doctor/formats", "doctor/snapshot", "msgspec"},
    "doctor/checks": {"doctor/snapshot", "doctor/findings", "doctor/fixes", "compat_matrix", "packaging", "msgspec"},
    "doctor/fixes": {"doctor/snapshot", "doctor/findings", "compat_matrix", "packaging", "msgspec"},
    "doctor/judge": {"doctor", "doctor/findings", "doctor/fixes", "doctor/snapshot", "compat_matrix", "msgspec"},
    "doctor/text": {
        "doctor",
        "doctor/formats",
        "doctor/snapshot",
        "doctor/findings",
        "doctor/fixes",
        "doctor/judge",
        "doctor/resolve",
        "compat_matrix",
        "msgspec",
    },
    "doctor/resolve": {"doctor/fixes", "doctor/snapshot", "compat_matrix", "packaging", "msgspec"},
    "doctor/fit": {"doctor/formats", "doctor/snapshot", "compat_matrix", "msgspec"},
    "doctor/topo": {"doctor/fit", "doctor/snapshot", "compat_matrix", "msgspec"},
    "doctor/proof": {"doctor/snapshot", "doctor/targets", "msgspec"},
    "doctor/images": {
        "doctor/formats",
        "doctor/snapshot",
        "doctor/findings",
        "doctor/judge",
        "doctor/resolve",
        "doctor/targets",
        "compat_matrix",
        "packaging",
        "msgspec",
        "requests",
        "urllib3",
        "docker",
        "dockerfile",
        "dockerfile_parse",
        "ruamel",
    },
    "doctor/fleet": {
        "doctor",
        "doctor/formats",
        "doctor/snapshot",
        "doctor/findings",
        "doctor/fixes",
        "doctor/judge",
        "doctor/targets",
        "compat_matrix",
        "msgspec",
        "ClusterShell",
        "ray",
    },
    "doctor/compare": {
        "doctor",
        "doctor/findings",
        "doctor/fixes",
        "doctor/fleet",
        "doctor/judge",
        "doctor/snapshot",
        "compat_matrix",
        "msgspec",
    },
    "doctor/report": {
        "doctor/compare",
        "doctor/findings",
        "doctor/snapshot",
        "doctor/judge",
        "doctor/fit",
        "doctor/fleet",
        "doctor/topo",
        "msgspec",
        "rich",
    },
}
"""Room to the rooms and distributions that it may import beside itself and the standard library."""
ALSO = {
    "doctor/probes/start.py": {"doctor", "doctor/patient", "doctor/targets"},  # sets gatherers and agents to work
    "doctor/findings/spec.py": {"packaging"},  # ranges of versions by PEP 440, where a spec is given
    "doctor/targets/far.py": {"msgspec"},  # the types of what another machine answers
    "doctor/fleet/answer.py": {"doctor/patient"},  # the wire format, which an agent writes and this reads
    "doctor/targets/process.py": {"doctor/patient"},  # the first lines of a child
    "doctor/targets/deadlines.py": {"doctor/patient"},  # whether a silent child moves, as agents ask of their own
    "doctor/targets/local.py": {"doctor/patient"},  # a forked gatherer ends as the other children do
    "doctor/probes/collect.py": {"doctor/targets"},  # joins gatherers and parsers
    "doctor/probes/commands.py": {"doctor/targets"},  # names the agents
    "doctor/probes/measured_loads.py": {"doctor/proof"},  # pure: samples put to phases, as in a watched run
    **{
        f"doctor/{name}.py": {"doctor/formats"}  # a tuple with names that a start need not wait for
        for name in ("judge/judge", "report/groups", "report/lines", "report/terminal", "report/outcome")
    },
    "doctor/images/importer.py": {"doctor/patient"},  # which variables of an environment matter
    "doctor/report/page.py": {"jinja2", "markupsafe"},  # imported where a page is made, and nowhere else
    "compat_matrix/store.py": {"typing_extensions"},  # for the type checker alone
    "doctor/findings/__init__.py": {"compat_matrix"},  # for the type checker alone
    "doctor/probes/agents.py": {"doctor/targets"},  # starts the agents whose answers it parses
    **{
        f"doctor/patient/{name}.py": {"torch"}  # the patient's
        for name in (
            "torch_facts",
            "torch_proof",
            "collective_children",
            "collective_lines",
            "collective_speed",
            "torch_speed",
            "fit_pass",
            "fit_model",
            "training_speed",
            "training_sweep",
        )
    },
    **{  # how this gpudoctor was installed
        f"doctor/images/{name}.py": {"doctor"} for name in ("recipes/instructions", "recipes/manifests")
    },
    "doctor/images/layers/contents.py": {"doctor/probes"},  # the lines that the file gatherer's tools give
    "doctor/images/layers/snapshot.py": {"doctor/patient", "doctor/probes"},  # the gatherer, over a tree in memory
    "doctor/images/layers/tree.py": {"doctor/patient"},  # what the gatherer looks through
    "doctor/images/layers/unpack.py": {"doctor", "zstandard", "compression"},
    "doctor/images/layers/wanted.py": {"doctor/patient"},  # tables: packages that carry GPU code
    "doctor/patient/nvml.py": {"pynvml"},  # runs under our own Python, where nvidia-ml-py is
    "doctor/patient/nvml_sampler.py": {"pynvml"},
}
PURE = ("doctor/checks", "doctor/fixes")
IMPURE = {"os", "subprocess", "time", "socket", "pathlib", "random", "datetime", "shutil", "tempfile", "io", "glob",
          "platform", "ctypes", "threading", "urllib", "http"}  # fmt: skip


@cache
def tree(path: str | Path) -> ast.Module:
    """What a file says, parsed once for all tests of a process that read the source."""
    return ast.parse((ROOT / path).read_text("utf-8"))


def sources() -> list[Path]:
    """Every file of the two packages."""
    return sorted(
        path.relative_to(ROOT)
        for top in ("doctor", "compat_matrix", "gpudoctor")
        for path in (ROOT / top).rglob("*.py")
    )


def room_of(path: str) -> str:
    """`doctor/checks` of doctor/checks/x.py; `doctor` of doctor/cli.py; `compat_matrix` of any file of it."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "doctor" and len(parts) > 2 else parts[0]


@cache
def imports(path: Path) -> tuple[tuple[str, bool, int], ...]:
    """(room or distribution, whether the import was relative, line) of every import, wherever it stands."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[str, bool, int]]:
    package = path.parent.parts
    for node in ast.walk(tree(str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield _name(alias.name.split(".")), False, node.lineno
        elif isinstance(node, ast.ImportFrom):
            words = node.module.split(".") if node.module else []
            if not node.level:
                yield _name(words), False, node.lineno
                continue
            base = [*package[: len(package) - node.level + 1], *words]
            for alias in node.names:  # `from .. import judge` names a room by its last word
                full = [*base, alias.name] if (ROOT.joinpath(*base, alias.name)).is_dir() else base
                yield _name(full), True, node.lineno


def _name(words: list[str]) -> str:
    if words[0] not in ("doctor", "compat_matrix"):
        return words[0]
    return (
        room_of("/".join([*words[:2], "x.py"]))
        if len(words) > 1 and (ROOT / words[0] / words[1]).is_dir()
        else words[0]
    )


@pytest.mark.slow
def test_the_reader_of_imports_sees_every_form(tmp_path: Path) -> None:
    found = {name for path in sources() for name, _, _ in imports(path)}
    assert {"doctor/snapshot", "doctor/findings", "doctor/judge", "compat_matrix", "msgspec", "os", "doctor"} <= found
    relative = {name for name, is_relative, _ in imports(Path("doctor/judge/judge.py")) if is_relative}
    rooms = {"doctor/findings", "doctor/fixes", "doctor/snapshot", "doctor/judge"}
    assert relative == {"doctor", *rooms}


@for_each("path", sources(), ids=str)
def test_a_file_imports_only_what_its_room_may(path: Path) -> None:
    room = room_of(str(path))
    if room in ("doctor", "doctor/commands", "gpudoctor"):
        return  # the doors: they may import all
    assert room in MAY_IMPORT, f"{room} is a new room: say in DESIGN and here what it may import"
    allowed = MAY_IMPORT[room] | ALSO.get(str(path), set()) | {room}
    wrong = [
        f"{path}:{line} imports {name}" for name, _, line in imports(path) if name not in allowed and name not in STDLIB
    ]
    assert not wrong


@for_each("path", [p for p in sources() if room_of(str(p)) in PURE], ids=str)
def test_rules_do_not_touch_the_machine(path: Path) -> None:
    assert [f"{path}:{line} imports {name}" for name, _, line in imports(path) if name in IMPURE] == []


@for_each("path", sources(), ids=str)
def test_inside_a_package_imports_are_relative(path: Path) -> None:
    own = path.parts[0]
    assert [line for name, relative, line in imports(path) if not relative and name.split("/")[0] == own] == []


@for_each("path", [p for p in sources() if room_of(str(p)) in ("doctor/patient", "doctor/formats")], ids=str)
def test_what_the_patient_runs_is_python_3_8(path: Path) -> None:
    ast.parse((ROOT / path).read_text("utf-8"), feature_version=(3, 8))


def files_imported(path: Path) -> Iterator[Path]:
    """The files of the product that a file imports, wherever the import stands (for types alone, or in a function)."""
    for node in ast.walk(tree(str(path))):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = Path(*path.parts[: len(path.parts) - node.level] if node.level else ())
        base = base.joinpath(*(node.module.split(".") if node.module else ()))
        face = [base.with_suffix(".py"), base / "__init__.py"]
        for alias in node.names:
            inner = [base / f"{alias.name}.py", base / alias.name / "__init__.py"]
            yield from (file for file in inner if (ROOT / file).is_file())
            if not any((ROOT / file).is_file() for file in inner):
                yield from (file for file in face if (ROOT / file).is_file())


def circles(edges: dict[Path, set[Path]]) -> list[list[str]]:
    """The files that lead back to themselves, by circle."""

    def reached(start: Path) -> set[Path]:
        seen: set[Path] = set()
        todo = list(edges[start])
        while todo:
            place = todo.pop()
            if place not in seen:
                seen.add(place)
                todo += edges.get(place, ())
        return seen

    reach = {path: reached(path) for path in edges}
    found = {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in edges if a in reach[a]}
    return sorted(sorted(map(str, circle)) for circle in found)


@pytest.mark.slow
def test_no_circle_is_in_the_imports() -> None:
    edges = {path: set(files_imported(path)) - {path} for path in sources()}
    assert circles(edges) == []


def test_a_circle_would_be_found() -> None:
    a, b, c = (Path(f"{name}.py") for name in "abc")
    assert circles({a: {b}, b: {a, c}, c: set()}) == [["a.py", "b.py"]]
    assert Path("compat_matrix/gpus.py") in set(files_imported(Path("compat_matrix/matrix.py")))
    assert Path("doctor/snapshot/__init__.py") in set(files_imported(Path("doctor/checks/_boards.py")))


def test_the_catalogue_is_the_only_room_that_reports_do_not_see() -> None:
    names = {name for path in sources() if room_of(str(path)) == "doctor/report" for name, _, _ in imports(path)}
    assert not names & {"doctor/checks", "doctor/fixes", "doctor/probes", "doctor/targets", "subprocess", "socket"}


def test_training_and_what_it_learns_from_are_never_imported_by_the_product() -> None:
    names = {name for path in sources() for name, _, _ in imports(path)}
    assert not names & {"training", "detect_secrets", "benchmarks", "tests"}
    assert (ROOT / "training").is_dir() and not (ROOT / "training" / "__init__.py").exists()
