"""Which torch a shell command installs: version, index and build, as far as the line itself shows."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from urllib.parse import unquote

from msgspec import Struct

from compat_matrix.installer import INDEX_TAG, PYPI, index_source

from .install_variables import assigned, options

_LONGEST_WORD = 1 << 16
_BEFORE_PROGRAM = re.compile(r"[A-Za-z_]\w*=.*|sudo|exec|time|env|then|do|else|if|!|\{")
_ENDS = {"&&", "||", ";", "|", "&", "(", ")", ";;", "\n"}
_REQUIREMENT = re.compile(r"torch(?:\[[\w,-]*\])?\s*(?:==\s*([0-9][\w.+!-]*?)(?:\.\*)?|[<>=!~].*)?(?:\s*;.*)?")
_RUNS_PIP = re.compile(r"(?:.*/)?(?:pip[\d.]*|uv|python[\d.]*)")
_PIP = re.compile(r"(?:.*/)?(?:-m)?pip[\d.]*")
_UPGRADES = {"-U", "--upgrade", "--force-reinstall", "-I", "--ignore-installed", "--reinstall"}
_MANAGER = re.compile(r"(?:^|[\s/])(?:(?:-m)?pip[\d.]*|conda|mamba|micromamba)$")
_SERVER = re.compile(r"(vllm|sglang)(?:\[[\w,-]*\])?==([0-9][\w.]*)")
_WHEEL = re.compile(r"(?:.*/)?torch-([0-9][^-/]*)-[^/]*\.whl(?:[#?].*)?")
_CONDA = re.compile(
    r"(?:[\w.-]+::)?(pytorch|pytorch-gpu|pytorch-cpu|pytorch-cuda|cudatoolkit|cpuonly)(?:={1,2}([\w.*]+)(?:=(\S+))?)?"
)
_DEFAULT_INDEX = ("-i", "--index-url", "--default-index")
_INDEX_OPTIONS = (*_DEFAULT_INDEX, "--extra-index-url", "-f", "--find-links", "--index")


class TorchInstall(Struct, frozen=True):
    """One install. Empty: not in the line. `tag`: cu128, cpu, rocm6.4; `build`: cuda, cpu, rocm, xpu."""

    version: str = ""
    tag: str = ""
    build: str = ""
    text: str = ""
    """The command, as run."""
    pinned_by: tuple[str, str] | None = None
    """(vllm, 0.10.2): torch is not named; the one that this release pins is installed."""
    installer: str = ""
    """pip or uv, if it is one of them."""
    specifier: str = ""
    """'==2.6.0', '>=2.1,<2.5'; '' for any."""
    indexes: tuple[str, ...] = ()
    """What it chooses from, the default index last: tags of PyTorch's indexes, 'pypi', or a URL."""
    upgrades: bool = False
    """It replaces an installed torch even if that satisfies the requirement."""
    choice: str = ""
    """A sentence, if version and tag are what the installer would choose today."""

    @property
    def from_pypi(self) -> bool:
        """Named without an index or a local version: comes from PyPI."""
        return not self.tag and not self.build


def torch_installs(shell: str, env: Mapping[str, str] | None = None) -> Iterator[TorchInstall]:
    """Every torch install in a shell text, in order. env: the variables it runs with."""
    if not any(name in shell for name in ("torch", "vllm", "sglang")):
        return
    exported = dict(env or {})
    for all_words in commands(shell):
        if all_words[:1] == ["export"]:
            exported.update(assigned(all_words))
        words = program(all_words)
        found = _of_pip(words, {**exported, **assigned(all_words)}) or _of_conda(words)
        if found:
            yield found


def removes(shell: str, names: Sequence[str]) -> bool:
    """Whether pip, uv or conda removes one of these packages in a shell text."""
    for words in commands(shell) if "uninstall" in shell or "remove" in shell else ():
        at = next((i for i, word in enumerate(words[:6]) if word in ("uninstall", "remove")), 0)
        if _MANAGER.search(" ".join(words[:at])) and set(words[at:]) & set(names):
            return True
    return False


def program(words: list[str]) -> list[str]:
    """A command without the assignments and shell words before its program."""
    at = next((i for i, word in enumerate(words) if not _BEFORE_PROGRAM.fullmatch(word)), len(words))
    return words[at:]


@lru_cache(maxsize=4096)
def commands(shell: str) -> tuple[list[str], ...]:
    """The words of each command in a shell text; anything after an open quote is left out."""
    found: list[list[str]] = [[]]
    try:
        for word in lexer(shell.replace("\\\n", " "), ";&|()"):
            if word in _ENDS or not word.strip(";&|()"):
                found.append([])
            else:
                found[-1].append(word)
    except ValueError:  # a quote that is never closed: what came before it is whole
        pass
    return tuple(found)


def lexer(text: str, punctuation: str = "") -> Iterator[str]:
    """Words as a shell splits them. Raises ValueError for a quote that is never closed, or a word over 64 KiB:
    shlex copies a word for each of its characters."""
    source = _Bounded(text)
    source.reader = shlex.shlex(source, posix=True, punctuation_chars=punctuation)
    source.reader.whitespace_split, source.reader.commenters = True, "#" if punctuation else ""
    return iter(source.reader)


class _Bounded(io.StringIO):
    """A text in which a word that is too long is not read to its end."""

    reader: shlex.shlex
    _length = 0

    def read(self, size: int | None = -1) -> str:
        between = vars(self.reader)["state"] == " "
        self._length = 0 if between else self._length + 1
        if self._length > _LONGEST_WORD:
            raise ValueError("a word is too long")
        return super().read(size)


def _of_pip(words: list[str], variables: Mapping[str, str]) -> TorchInstall | None:
    at = next((i for i, word in enumerate(words[:8]) if word == "install"), None)
    if at is None or not _RUNS_PIP.fullmatch(words[0]) or not any(_PIP.fullmatch(word) for word in words[:at]):
        return None
    text, tool = " ".join(words), "uv" if "uv" in [PurePosixPath(word).name for word in words[:at]] else "pip"
    words = [*words, *options(tool, words, variables)]
    indexes = [_value(words, i) for i, word in enumerate(words) if word.partition("=")[0] in _INDEX_OPTIONS]
    backend = next((_value(words, i) for i, w in enumerate(words) if w.partition("=")[0] == "--torch-backend"), "")
    of_index = next((found[1] for url in indexes if (found := INDEX_TAG.search(url.rstrip("/")))), backend)
    version: str | None = None
    specifier = ""
    pinned_by: tuple[str, str] | None = None
    for word in words[at + 1 :]:
        if server := _SERVER.fullmatch(word):
            pinned_by = server[1], server[2]
        if wheel := _WHEEL.fullmatch(word):
            version = unquote(wheel[1])
        elif named := _REQUIREMENT.fullmatch(word.strip()):
            version = named[1] or ""
            specifier = re.sub(r"^torch(?:\[[^\]]*\])?|\s|;.*$", "", word.strip())
    if version is not None:
        pinned_by = None
    elif pinned_by is None:
        return None
    version = version or ""
    local = version.partition("+")[2]
    installer, sources = _installer(words[:at], words), _sources(words, backend)
    if installer == "pip" and not version and PYPI in sources:
        of_index = ""  # it takes the highest version of them all
    tag = local or (of_index if of_index != "auto" else "")
    build = "" if not tag else "cuda" if tag.startswith("cu") else re.sub(r"[\d.]+$", "", tag)
    build = build if build in ("cuda", "cpu", "rocm", "xpu") else ""
    return TorchInstall(
        version, tag, build, text, pinned_by, installer=installer,
        specifier=f"=={version}" if version and not specifier else specifier, indexes=sources,
        upgrades=bool(_UPGRADES & set(words)),
    )  # fmt: skip


def _installer(program_words: list[str], words: list[str]) -> str:
    """uv, or pip if an option makes uv compare all indexes, as pip does."""
    as_pip = any("unsafe-best" in _value(words, i) for i, w in enumerate(words) if w.startswith("--index-strategy"))
    return "pip" if as_pip or "uv" not in [PurePosixPath(word).name for word in program_words] else "uv"


def _sources(words: list[str], backend: str) -> tuple[str, ...]:
    """A command's indexes in the order in which uv asks them, the default one last."""
    if backend:
        return (backend,)
    found: list[str] = []
    default = PYPI
    for i, word in enumerate(words):
        name = word.partition("=")[0]
        if name == "--no-index":
            default = ""
        if name not in _INDEX_OPTIONS:
            continue
        source = index_source(_value(words, i))
        if name in _DEFAULT_INDEX:
            default = source
        else:
            found.append(source)
    return (*found, *([default] if default else []))


def _value(words: list[str], at: int) -> str:
    """The value in `--option value` or `--option=value`."""
    _, equals, value = words[at].partition("=")
    return value if equals else words[at + 1] if at + 1 < len(words) else ""


def _of_conda(words: list[str]) -> TorchInstall | None:
    names = [word.rpartition("/")[2] for word in words[:2]]
    if not names or names[0] not in ("conda", "mamba", "micromamba") or not {"install", "create"} & set(words[:6]):
        return None
    channels = ("-c", "--channel")
    named = [word for before, word in zip(["", *words], words, strict=False) if before not in channels]
    found = {one[1]: one for word in named if (one := _CONDA.fullmatch(word))}
    torch = next((found[name] for name in ("pytorch", "pytorch-gpu", "pytorch-cpu") if name in found), None)
    if not torch:
        return None
    version = (torch[2] or "").rstrip(".*")
    cuda = next((found[name][2] or "" for name in ("pytorch-cuda", "cudatoolkit") if name in found), "")
    in_build = re.search(r"cuda(\d+\.\d+)", torch[3] or "")
    cuda = ".".join((in_build[1] if in_build else cuda).split(".")[:2])
    cpu = bool({"cpuonly", "pytorch-cpu"} & set(found)) or "cpu" in (torch[3] or "")
    tag = f"cu{cuda.replace('.', '')}" if cuda else "cpu" if cpu else ""
    return TorchInstall(version, tag, "cuda" if cuda else "cpu" if cpu else "", " ".join(words))
