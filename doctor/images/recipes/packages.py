"""What a stage's RUN lines install, with pip and uv and their indexes or with apt, and what they compile."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from ..installs import TorchInstall, commands, program, removes, torch_installs
from .bases import Base
from .stages import Stage, Step

_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]{0,80})(?:\[[^\]]{0,80}\])?\s*(?:(===?|[<>~!]=?)\s*([^\s;,#]{1,60}))?")
_INDEX_OPTIONS = ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--default-index", "--index")
_WITH_VALUE = (*_INDEX_OPTIONS, "-r", "--requirement", "-c", "--constraint", "-e", "--editable", "-t", "--target",
               "--python", "--prefix", "--root", "--platform", "--torch-backend", "--timeout", "--cache-dir",
               "--trusted-host", "--retries", "--python-version", "--abi", "--no-binary", "--only-binary",
               "--no-build-isolation-package", "--config-settings", "-C", "--index-strategy", "--override")  # fmt: skip


class Wanted(Struct, frozen=True):
    """One requirement as written."""

    name: str
    operator: str = ""
    version: str = ""


class PipInstall(Struct, frozen=True, kw_only=True):
    """One `pip install`. files: those of -r; indexes: all that it names; line: where the command begins."""

    wanted: tuple[Wanted, ...]
    files: tuple[str, ...]
    indexes: tuple[str, ...]
    upgrade: bool
    isolated: bool
    line: int
    step: Step
    text: str

    def version_of(self, name: str) -> Wanted | None:
        """The requirement with this name."""
        return next((one for one in self.wanted if one.name == name), None)


def pip_installs(steps: Sequence[Step], rows: Sequence[str]) -> Iterator[PipInstall]:
    """Every one in all RUN steps. rows: the file's lines."""
    for step in steps:
        if step.word == "RUN":
            for words in commands(step.value):
                if found := _pip(words, step, rows):
                    yield found


_OF_SYSTEM = {"18.04": "3.6", "20.04": "3.8", "22.04": "3.10", "24.04": "3.12"}
"""Ubuntu's release to its python3."""
_OTHER_PYTHON = re.compile(r"conda|mamba|pyenv|deadsnakes|\bpixi\b|\buv (?:venv|python|sync|run)\b")
_NAMED_PYTHON = re.compile(
    r"(?:\bpython=+|PYTHON(?:_VERSION)?[= ]\"?|--python[ =]|\bpython install |\bpython)(3\.\d{1,2})\b"
)


def python_of(stage: Stage, base: Base) -> str:
    """major.minor of the Python that a stage's installs use: its image's, one named in its steps, or Ubuntu's."""
    if base.python:
        return base.python
    texts = [step.value for step in stage.whole if step.word in ("RUN", "ENV")]
    named = {found for text in texts for found in _NAMED_PYTHON.findall(text)}
    if named or any(_OTHER_PYTHON.search(text) for text in texts):
        return named.pop() if len(named) == 1 else ""
    ubuntu = re.search(r"(?:^|/)ubuntu:(\d\d\.04)|nvidia/cuda:\S*-ubuntu(\d\d\.04)$", stage.image)
    return _OF_SYSTEM.get(ubuntu[1] or ubuntu[2], "") if ubuntu else ""


def removals(steps: Sequence[Step], names: Sequence[str]) -> list[int]:
    """Lines of the steps in which pip, uv or conda removes one of these packages."""
    return [step.line for step in steps if step.word == "RUN" and removes(step.value, names)]


def torch_of(step: Step) -> list[TorchInstall]:
    """The torch installs in one step."""
    return list(torch_installs(step.value, step.env))


def line_in(step: Step, rows: Sequence[str], *needles: str) -> int:
    """The first line of a step that contains one of the words; the step's first line if none does."""
    for number in range(step.line, min(step.end, len(rows)) + 1):
        if any(needle and needle in rows[number - 1] for needle in needles):
            return number
    return step.line


def _pip(words: list[str], step: Step, rows: Sequence[str]) -> PipInstall | None:
    words = program(words)
    at = next((i for i, word in enumerate(words[:8]) if word == "install"), None)
    if at is None or not any(re.fullmatch(r"(?:.*/)?(?:-m)?pip[\d.]*", word) for word in words[:at]):
        return None
    wanted, files, indexes = [], [], []
    rest = iter(words[at + 1 :])
    flags = set()
    for word in rest:
        name, equals, value = word.partition("=")
        if word.startswith("-"):
            value = value if equals else next(rest, "") if name in _WITH_VALUE else ""
            flags.add(name)
            if name in ("-r", "--requirement"):
                files.append(value)
            elif re.fullmatch(r"-r.+", name):
                files.append(name[2:])
            elif name in _INDEX_OPTIONS:
                indexes.append(value)
            continue
        wanted += _requirement(word)
    text = " ".join(words)
    first = next((word for word in words[at + 1 :] if not word.startswith("-")), "install")
    return PipInstall(
        wanted=tuple(wanted), files=tuple(files), indexes=tuple(indexes), step=step, text=text,
        upgrade=bool(flags & {"-U", "--upgrade", "--force-reinstall", "-I", "--ignore-installed"}),
        isolated="--no-build-isolation" not in flags, line=line_in(step, rows, first),
    )  # fmt: skip


def _requirement(word: str) -> list[Wanted]:
    wheel = re.fullmatch(r"(?:.*/)?([A-Za-z0-9_.]+)-([0-9][^-/]*)-[^/]*\.whl(?:[#?].*)?", word)
    if wheel:
        return [Wanted(_plain(wheel[1]), "==", wheel[2].replace("%2B", "+"))]
    if "://" in word or word.startswith((".", "/", "git+")):
        name = re.search(r"([\w.-]+?)(?:\.git)?(?:@[\w./-]+)?/?$", word.partition("#")[0])
        return [Wanted(_plain(name[1]), "@", word)] if name else []
    found = _REQUIREMENT.match(word)
    return [Wanted(_plain(found[1]), found[2] or "", found[3] or "")] if found else []


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(text: str) -> list[tuple[int, Wanted]]:
    """(line, requirement) in a requirements.txt; its options and includes are left out."""
    found = []
    for number, row in enumerate(text.split("\n"), 1):
        row = row.split(" #")[0].strip()
        if row and not row.startswith(("#", "-")):
            found += [(number, one) for one in _requirement(row)]
    return found


def context_file(name: str, step: Step, copies: Sequence[Step]) -> str:
    """The build context path that a file in the image was copied from; its own name if no COPY shows it."""
    wanted = PurePosixPath(name)
    for copy in reversed([one for one in copies if one.line < step.line]):
        words = copy.value.replace('"', " ").strip("[] ").replace(",", " ").split()
        if any(word.startswith("--from") for word in words):
            continue
        words = [word for word in words if not word.startswith("--")]
        for source in words[:-1]:
            path = PurePosixPath(source)
            if path.name == wanted.name:
                return str(path)
            if words[-1].rstrip("/") in (".", "./", "/app", str(wanted.parent)) and source in (".", "./"):
                return wanted.name if wanted.is_absolute() else str(wanted)
    return wanted.name


def apt_packages(step: Step) -> list[str]:
    """What apt, dnf, yum or apk install in this step."""
    found = []
    for words in commands(step.value):
        words = program(words)
        if words and words[0].rpartition("/")[2] in ("apt-get", "apt", "dnf", "yum", "microdnf", "apk", "zypper"):
            if not {"install", "add"} & set(words[1:6]):
                continue
            at = next(i for i, word in enumerate(words) if word in ("install", "add"))
            found += [word.partition("=")[0] for word in words[at + 1 :] if not word.startswith("-")]
    return found
