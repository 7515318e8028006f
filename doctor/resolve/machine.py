"""The machine that `gpudoctor resolve` is asked about: described with flags, or examined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from compat_matrix.close_names import unlisted_gpu
from compat_matrix.forward import for_all_of
from compat_matrix.framework_wishes import FRAMEWORKS
from compat_matrix.packages import package_names, plain
from compat_matrix.resolver import Question
from compat_matrix.unlisted import unlisted
from compat_matrix.versions import numbers
from compat_matrix.wish import Wish, distribution_of, is_prefix
from compat_matrix.wishes import KNOWN

from ..fixes.machine import driver_version, glibc, not_listed, python_version
from ..fixes.which_torch import gpus_to_serve, has_wheels, installed_torch
from ..snapshot import Missing, Snapshot, known

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.drivers import Platform

_AKIN = {
    "pytorch": "torch", "tensorflow-gpu": "tensorflow", "jaxlib": "jax", "onnxruntime": "onnxruntime-gpu",
    "flash-attention": "flash-attn", "flash_attn": "flash-attn",
}  # fmt: skip


class Unclear(Exception):
    """The question cannot be answered: one line. `unknown`: not in the matrix (exit 3), else wrong usage (2)."""

    def __init__(self, text: str, unknown: bool = False) -> None:
        super().__init__(text)
        self.unknown = unknown


class Card(Struct, frozen=True):
    """A GPU by name and compute capability. forward: whether it supports forward compatibility."""

    name: str
    capability: str
    count: int = 1
    forward: bool = False
    tegra: bool = False

    @property
    def with_grace(self) -> bool:
        """Whether it only exists on one board with an Arm CPU (GH200, GB10, GB200, GB300)."""
        return bool(re.match(r"(?i)(GH200|GB10|GB[23]00)\b", self.name))


class Machine(Struct, frozen=True, kw_only=True):
    """GPUs (none known: empty), driver ('' for none yet), system and Python ('' for any).

    glibc: the examined system's ('2.35'). torch: the installed version; tag: its CUDA tag.
    """

    cards: tuple[Card, ...]
    driver: str = ""
    os: str = "linux"
    arch: str = "x86_64"
    python: str = ""
    glibc: str = ""
    torch: str = ""
    tag: str = ""
    driver_unknown: bool = False
    """Whether there may be a driver: the machine was described without it, or its version could not be read."""
    notes: tuple[str, ...] = ()

    def question(self, wishes: Sequence[Wish]) -> Question:
        return Question(
            gpus=tuple(dict.fromkeys(card.capability for card in self.cards)),
            driver=self.driver,
            os=self.os,
            arch=self.arch,
            python=self.python,
            glibc=self.glibc,
            wishes=tuple(wishes),
            eligible=bool(self.cards) and all(card.forward for card in self.cards),
        )

    def __str__(self) -> str:
        cards = ", ".join((f"{card.count}x " if card.count > 1 else "") + card.name for card in self.cards)
        system = {"linux": "Linux", "wsl": "WSL", "windows": "Windows"}[self.os]
        none = "driver unknown" if self.driver_unknown else "no driver yet"
        none = "JetPack's driver" if any(card.tegra for card in self.cards) else none
        parts = [cards, f"driver {self.driver}" if self.driver else none, f"{system} {self.arch}"]
        return " · ".join([*parts, f"Python {self.python}" if self.python else "any Python"])


def card(m: Matrix, text: str) -> Card:
    """A GPU by name ('GTX 1080', '2x A100'), compute capability ('8.6') or PCI id ('10de:2b85'). Raises Unclear."""
    times = re.match(r"\s*(\d{1,4})\s*[xX×]\s*(?=\D|\d{4})", text)
    count = int(times[1]) if times else 1
    name = text[times.end() :].strip() if times else text.strip()
    if not name or count == 0:
        raise Unclear(f"--gpu {text!r}: name a GPU, such as 'RTX 4090', 8.9 or 10de:2684")
    pci = re.fullmatch(r"(?:(?:0x)?10de:)(?:0x)?([0-9a-f]{4})", name, re.I)
    target = re.fullmatch(r"(?i)(?:sm|compute)_?(\d{1,2})(\d[af]?)", name)
    name = f"{target[1]}.{target[2].lower()}" if target else name
    if re.fullmatch(r"\d{1,2}\.\d[af]?", name):
        row = m.compute_capability(name)
        if row is None:
            raise Unclear(f"compute capability {name} is not listed in this matrix", unknown=True)
        return Card(f"compute capability {name}", row.cc, count, False, row.tegra)
    if re.match(r"(?i)(nvidia )?(jetson|orin|xavier|thor)\b", name):
        return _jetson(m, name, count)
    match = m.gpu(None, pci[1]) if pci else m.gpu(name)
    if not match.rows and not pci:
        match = m.gpus_like(name)
    if not match.rows and re.fullmatch(r"(?:0x)?[0-9a-f]{4}", name, re.I):
        match = m.gpu(None, name)
    if not match.rows:
        if re.search(r"(?i)\b(radeon|instinct|amd|intel|arc|apple|mi\d{2,3}x?)\b", name):
            raise Unclear(f"{name!r} is not an NVIDIA GPU")
        raise Unclear(unlisted_gpu(m, name), unknown=True)
    if not match.capability:
        several = ", ".join(sorted({f"{row.name} ({row.cc})" for row in match.rows})[:6])
        raise Unclear(f"{name!r} could be any of {several}: give the full name")
    named = match.rows[0].name.removeprefix("NVIDIA ") if len({row.name for row in match.rows}) == 1 else name
    about = m.compute_capability(match.capability)
    return Card(named, match.capability, count, for_all_of(match.rows), bool(about and about.tegra))


def _jetson(m: Matrix, name: str, count: int) -> Card:
    """A module from NVIDIA's Jetson line, matched by the names listed with its compute capability."""
    own = set(re.findall(r"[a-z]+\d*", name.casefold()))
    words = own - {"nvidia", "jetson", "agx", "nx", "developer", "kit", "super"}
    for row in reversed(m.capabilities):  # Thor is 11.0 since CUDA 13, was 10.1
        if row.tegra and words & set(re.findall(r"[a-z]+\d*", row.examples.casefold())):
            return Card(name, row.cc, count, tegra=True)
    raise Unclear(f"{name!r} is not listed in this matrix", unknown=True)


def driver(m: Matrix, text: str, os: str) -> tuple[str, str]:
    """(version, note) of '535', '535.129.03', 'none'. A branch alone means its newest version. Raises Unclear."""
    word = text.strip().lower().removeprefix("driver").removeprefix("v").strip()
    if word in ("none", "no"):
        return "", ""
    if not re.fullmatch(r"\d{2,4}(\.\d{1,4}){0,2}", word):
        raise Unclear(f"--driver {text!r} is not a driver version, such as 535 or 535.129.03")
    platform: Platform = "linux" if os == "linux" else "windows"
    branch = m.driver_branch(word, platform)
    if re.fullmatch(r"1\d\.\d", word):
        raise Unclear(f"--driver {text!r} is a CUDA version; nvidia-smi shows the driver's version as 'Driver Version'")
    if branch.status == "newer-than-matrix":
        raise Unclear(f"driver {word} is newer than this matrix, so what it supports is unknown", unknown=True)
    if branch.row is None:
        raise Unclear(f"driver {word} is not listed in this matrix", unknown=True)
    if "." in word:
        return word, ""
    newest = m.newest_of_branch(word, platform)
    named = f", {newest}" if newest == branch.row.latest_seen else ""
    return newest, f"Driver {word} is assumed to be the newest version of its branch{named}."


def wish(m: Matrix, text: str) -> Wish:
    """'torch', 'torch==2.8', 'vllm>=0.10', 'jax[cuda13]'. Raises Unclear."""
    found = re.fullmatch(r"\s*([A-Za-z][\w.-]*?)\s*(?:\[([\w, -]+)\])?\s*((?:[=<>!~]=?|===).*)?", text)
    if not found:
        raise Unclear(f"{text!r} is not a package name or requirement, such as torch==2.8")
    name = found[1].lower().replace("_", "-")
    extras = re.split(r"[, ]+", (found[2] or "").strip())
    name, distribution = distribution_of(_AKIN.get(name, name), extras)
    specifier = (found[3] or "").strip()
    if found[2] and not distribution and not set(extras) <= set(FRAMEWORKS.get(name, "").split(",")):
        raise Unclear(f"{text!r} is not a package name or requirement, such as torch==2.8")
    if name not in KNOWN:
        raise _not_judged(m, name, specifier)
    if distribution and unlisted(m, Wish(name, "", distribution)):
        raise Unclear(f"{distribution!r} is not in this matrix", unknown=True)
    plain = re.fullmatch(r"==\s*(\d+(?:\.\w+)*)(\.\*)?(\+\w+)?", specifier)
    if plain and (is_prefix(plain[1]) or not plain[2]):
        return Wish(name, plain[1] + (plain[3] or ""), distribution)
    if specifier:
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            SpecifierSet(specifier)
        except InvalidSpecifier:
            raise Unclear(
                f"{text!r}: {specifier} is not a valid version specifier; use one such as ==2.8 or >=2.8,<3"
            ) from None
    return Wish(name, specifier, distribution)


def _not_judged(m: Matrix, name: str, specifier: str) -> Unclear:
    """For a package that `resolve` does not choose releases of: whether the matrix has it, else the nearest names."""
    if plain(name) in package_names(m) and plain(name) not in KNOWN:
        pin = re.fullmatch(r"={2,3}\s*([\w.+!-]+)", specifier)
        query = f"gpudoctor matrix query {name}{f' {pin[1]}' if pin else ''}"
        return Unclear(f"{name} is listed in this matrix, but resolve does not judge it: run {query}", unknown=True)
    from difflib import get_close_matches

    close = get_close_matches(name, KNOWN, n=2, cutoff=0.7) or [one for one in KNOWN if name.startswith(f"{one}-")]
    hint = f"; did you mean {' or '.join(close)}?" if close else f" (known: {', '.join(KNOWN)})"
    return Unclear(f"{name!r} is not in this matrix{hint}", unknown=not close)


def python(text: str) -> str:
    """'3.12' of '3.12', '3.12.4', '3.13t'. Raises Unclear."""
    found = re.fullmatch(r"\s*(3\.\d{1,2})(?:\.\d+)?(t?)\s*", text)
    if not found:
        raise Unclear(f"--python {text!r} is not a Python 3 version, such as 3.12 or 3.13t")
    return found[1] + found[2]


def of_snapshot(s: Snapshot, m: Matrix) -> Machine:
    """The examined machine. Raises Unclear if none of its GPUs is known, or if torch has no wheels for it."""
    cards: dict[str, Card] = {}
    notes = []
    visible = gpus_to_serve(s, m)
    for seen in visible:
        if not seen.capability:
            if not any(other.capability for other in visible):
                raise Unclear(
                    f"the compute capability of {seen.name} is unknown: give the GPU with --gpu", unknown=True
                )
            name = "one GPU" if seen.name == "GPU" else seen.name
            notes.append(f"The compute capability of {name} is unknown, so it was not considered.")
            continue
        before = cards.get(seen.name)
        match = m.gpu(seen.name)
        row = m.compute_capability(seen.capability)
        forward = for_all_of(match.rows)
        count = before.count + 1 if before else 1
        cards[seen.name] = Card(
            seen.name.removeprefix("NVIDIA "), seen.capability, count, forward, bool(row and row.tegra)
        )
    for seen in not_listed(s, m):
        able = "these builds have code for it too" if seen in visible else "no build supports both it and the others"
        notes.append(f"{seen.name} is on the PCI bus, but the driver does not list it; {able}.")
    if not cards:
        raise Unclear("no NVIDIA GPU found: name one, such as 'RTX 4090', with --gpu (in Python: gpus=)", unknown=True)
    if not has_wheels(s):
        raise Unclear(f"PyTorch publishes no CUDA wheels for {known(s.host.libc) or 'macOS'}", unknown=True)
    system = "wsl" if known(s.host.wsl) in (1, 2) else known(s.host.system) or "linux"
    version = driver_version(s, m) or ""
    torch, tag = installed_torch(s, m)
    return Machine(
        cards=tuple(cards.values()),
        driver=version if numbers(version) else "",
        driver_unknown=isinstance(s.driver.version, Missing) and s.driver.version.reason != "absent",
        os=system if system in ("linux", "wsl", "windows") else "linux",
        arch="aarch64" if known(s.host.architecture) in ("aarch64", "arm64") else "x86_64",
        python=python(python_version(s) or "") if python_version(s) else "",
        glibc=glibc(s),
        torch=torch,
        tag=tag,
        notes=tuple(notes),
    )
