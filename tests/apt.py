"""Packages of this machine's own Debian sources, unpacked into a cache folder: the machine's own apt stays as it is.

A temporary source file (the machine's own Debian sources, with the components added) and lists of its own in the folder;
packages are unpacked with dpkg -x, never installed.
"""

from __future__ import annotations

import fcntl
import glob
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_COMPONENTS = "main contrib non-free non-free-firmware"
_TIMEOUT_S = 180


class AptCache(NamedTuple):
    """A folder of this user's cache, shared by all runs. Its methods are for one process at a time: see `alone`."""

    name: str

    @property
    def folder(self) -> Path:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return Path(base) / "gpudoctor" / self.name

    @property
    def root(self) -> Path:
        """Where the packages are unpacked."""
        return self.folder / "root"

    @property
    def unpacked(self) -> Path:
        """The names of what `unpack_what_they_need` unpacked, written at its end."""
        return self.folder / "unpacked.txt"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One process at a time: apt does not wait for another one's lists."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def why_not(self, release: str, *packages: str) -> str:
        """Empty where apt offers these packages in this release; else the reason in a line."""
        done = self.apt("apt-get", "update")
        if done.returncode:
            return f"apt-get update: {last_line(done.stderr)}"
        offered = self.apt("apt-cache", "policy", *packages).stdout
        versions = re.findall(r"^  Candidate: (\S+)", offered, re.M)
        if len(versions) < len(packages) or not versions[0].startswith(release):
            return f"apt offers no {packages[0]} {release}: {versions}"
        return ""

    def unpack(self, *packages: str) -> None:
        """These packages alone; RuntimeError with apt's words where that fails."""
        done = self.apt("apt-get", "download", *packages)
        if done.returncode:
            raise RuntimeError(f"apt-get download: {last_line(done.stderr)}")
        self._extract(self.folder)

    def unpack_what_they_need(self, *packages: str) -> None:
        """These packages and all that they depend on and this machine lacks, each once; RuntimeError with apt's words."""
        archives = self.folder / "archives"
        shutil.rmtree(archives, ignore_errors=True)  # apt does not name what lies there: of a run that was cut off
        (archives / "partial").mkdir(parents=True)
        here = set(self.unpacked.read_text().split()) if self.unpacked.exists() else set()
        said = self._needed(archives, "--print-uris", *packages)
        wanted = set(re.findall(r"^'\S+' (\S+\.deb) ", said, re.M))
        if wanted - here:
            self._needed(archives, "--download-only", *packages)
            self._extract(archives)
            self.unpacked.write_text("\n".join(sorted(here | wanted)) + "\n")
        shutil.rmtree(archives)

    def _needed(self, archives: Path, *words: str) -> str:
        options = ("-o", f"Dir::Cache::archives={archives}", "-o", "Debug::NoLocking=1")
        done = self.apt("apt-get", "install", "-y", "--no-install-recommends", *options, *words)
        if done.returncode:
            raise RuntimeError(f"apt-get install {words[0]}: {last_line(done.stderr)}")
        return done.stdout

    def _extract(self, archives: Path) -> None:
        for package in sorted(archives.glob("*.deb")):
            subprocess.run(["dpkg", "-x", str(package), str(self.root)], check=True, timeout=_TIMEOUT_S)

    def apt(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run apt with the lists of this folder; 100 where there is no Debian source, 124 where it does not answer."""
        (self.folder / "lists/partial").mkdir(parents=True, exist_ok=True)
        own: list[str] = []
        for suffix, text in _sources().items():
            path = self.folder / f"own.{suffix}"
            path.write_text(text)
            own.append(str(path))
        if not own:
            return subprocess.CompletedProcess(command, 100, "", "apt has no Debian source here")
        options = {
            "Dir::Etc::sourcelist": own[0], "Dir::Etc::sourceparts": "/dev/null",
            "Dir::State::lists": str(self.folder / "lists"),
            "Dir::Cache::pkgcache": "", "Dir::Cache::srcpkgcache": "", "APT::Sandbox::User": "root",
            "APT::Update::Error-Mode": "any", "Acquire::Retries": "1", "Acquire::http::Timeout": "20",
        }  # fmt: skip
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        try:
            return subprocess.run(
                [command[0], *words, *command[1:]],
                cwd=self.folder,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", f"no answer within {_TIMEOUT_S} s")


def _sources() -> dict[str, str]:
    """The machine's own Debian sources with all components: the deb822 form first, else the one-line form."""
    deb822 = []
    for path in sorted(glob.glob("/etc/apt/sources.list.d/*.sources")):
        stanzas = re.split(r"\n\s*\n", Path(path).read_text(errors="replace"))
        deb822 += [s for s in stanzas if re.search(r"^URIs:.*/debian", s, re.M)]
    if deb822:
        text = "\n\n".join(stanza.strip() for stanza in deb822) + "\n"
        return {"sources": re.sub(r"^Components:.*$", f"Components: {_COMPONENTS}", text, flags=re.M)}
    lines = []
    for path in ["/etc/apt/sources.list", *sorted(glob.glob("/etc/apt/sources.list.d/*.list"))]:
        text = Path(path).read_text(errors="replace") if Path(path).exists() else ""
        lines += re.findall(r"^deb\s+(?:\[[^\]]*\]\s+)?\S*/debian\S*\s+\S+", text, re.M)
    return {"list": "".join(f"{line} {_COMPONENTS}\n" for line in lines)} if lines else {}


def last_line(text: str) -> str:
    """What a program said last, without the host's name."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return re.sub(r"//[^/\s]+", "//...", lines[-1]) if lines else "no words"
