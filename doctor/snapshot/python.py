"""Facts about the patient's Python, read from files: the interpreter is not started for them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .fact import NOT_ASKED, Missing, Section


class Distribution(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An installed distribution, from the name of its dist-info folder (no import)."""

    name: str
    """Normalised: lower case, dashes (nvidia-cudnn-cu12)."""
    version: str
    location: str
    """The site-packages folder it lies in."""
    installer: str = ""
    requires: tuple[str, ...] | Missing = NOT_ASKED
    """Requires-Dist lines; read only for torch, its companions and known CUDA extensions."""
    requires_python: str | Missing = NOT_ASKED
    editable: bool = False
    problem: str = ""
    """What is wrong with its metadata, where something is."""
    wheel: str = ""
    """File name of the wheel that it was installed from by address; its tag may name torch, CUDA and the C++ ABI."""


class CodeEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One architecture in one section of a library."""

    arch: str
    """`9.0`, `9.0a`, `10.0f`."""
    kind: str
    """sass or ptx."""
    entries: int
    containers: int
    """Containers of the section that hold this architecture and kind."""


class CodeSection(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`.nv_fatbin` or `__nv_relfatbin` of a library; coverage is over containers that hold kernels."""

    section: str
    containers: int
    """Containers that hold kernels."""
    archs: tuple[CodeEntry, ...] = ()


class CodeLibrary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A shared library with GPU code, as read from its bytes."""

    path: str
    package: str = ""
    """The distribution it belongs to: torch, bitsandbytes, flash-attn ..."""
    size: int = 0
    sections: tuple[CodeSection, ...] = ()
    sass: tuple[str, ...] = ()
    """Architectures with machine code in (nearly) all containers that hold kernels."""
    ptx: tuple[str, ...] = ()
    """Likewise for PTX."""
    special_sass: tuple[str, ...] = ()
    """Architectures of a few special kernels only: not support."""
    needed: tuple[str, ...] = ()
    """DT_NEEDED sonames of interest (libcudart, libcudnn, libnccl, libcuda ...)."""
    problem: str = ""


class ChangedFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that is not as its distribution installed it, or a library that cannot be loaded."""

    path: str
    """Below `site`: `torch/lib/libtorch_cpu.so`."""
    package: str
    version: str
    site: str
    state: Literal["missing", "empty", "zeros", "cut", "pointer", "not-elf", "machine", "needs", "size", "content"]
    """zeros: its first bytes are; cut: it ends before what its headers name; pointer: a git-lfs pointer; machine: for
    another processor; needs: a library that it names is nowhere; size: whole, of another size than was installed;
    content: of that size, with another hash."""
    size: int = 0
    """Bytes."""
    whole: int | None = None
    """Bytes that it had: by RECORD, else what its headers name."""
    detail: str = ""
    """What its link leads to, its processor, what it needs, or why it is not an ELF file."""
    recorded: bool = True
    """Whether its distribution has a RECORD that pip can use."""
    elsewhere: str = ""
    """Where the loader finds a library of that name, if it is missing here."""


class Environment(Section, frozen=True, kw_only=True, omit_defaults=True):
    """A Python environment."""

    prefix: str | Missing = NOT_ASKED
    executable: str | Missing = NOT_ASKED
    version: str | Missing = NOT_ASKED
    """`3.11.7` or `3.11`."""
    implementation: str | Missing = NOT_ASKED
    kind: str | Missing = NOT_ASKED
    """venv, conda, system, pyenv, uv, pipx, other."""
    free_threaded: bool | Missing = NOT_ASKED
    site_packages: tuple[str, ...] | Missing = NOT_ASKED
    """In sys.path order (user site first where it is enabled)."""
    torch_version: str | Missing = NOT_ASKED
    """Missing(absent) if no torch is installed."""
    externally_managed: bool | Missing = NOT_ASKED
    writable: bool | Missing = NOT_ASKED
    headers: bool | Missing = NOT_ASKED
    """Python.h of this interpreter is there: what compiles at run time needs it."""
    starts: bool | Missing = NOT_ASKED
    """Whether the interpreter starts, by starting it (without its site-packages); False if it is gone."""
    start_error: str | Missing = NOT_ASKED
    """Why it does not start; Missing(absent) if it does."""
    start_fault: Literal["gone", "refused", "crash"] | Missing = NOT_ASKED
    """gone: there is no such file, or its link leads nowhere; refused: the kernel would not execute it (no permission,
    another architecture); crash: it ended or hung before it was ready, or is not a Python."""
    link_target: str | Missing = NOT_ASKED
    """Of an interpreter that is gone: what its link leads to."""
    ensurepip: bool | Missing = NOT_ASKED
    """Whether the standard library's ensurepip is there, which installs pip (Debian takes it out of its Python)."""


class Python(Section, frozen=True, kw_only=True, omit_defaults=True):
    """Which environment is diagnosed, why that one, and what is installed in it."""

    patient: Environment = Environment()
    chosen_because: str | Missing = NOT_ASKED
    """`--python`, `VIRTUAL_ENV`, `CONDA_PREFIX`, `own environment`, `python3 on PATH` ..."""
    others: tuple[Environment, ...] | Missing = NOT_ASKED
    """Other environments on this machine that hold torch."""
    distributions: tuple[Distribution, ...] | Missing = NOT_ASKED
    """All distributions of the patient, in sys.path order; the same name twice is a duplicate."""
    distributions_partial: bool = False
    """Only some of them are reported; one that is not named may be there too."""
    extensions: tuple[CodeLibrary, ...] | Missing = NOT_ASKED
    """Libraries with GPU code of packages other than torch, and all of torchvision, torchaudio and torchcodec."""

    changed_libraries: tuple[ChangedFile, ...] | Missing = NOT_ASKED
    """Shared libraries of torch, the nvidia-* wheels, Triton and required packages that are not as they were installed
    or cannot be loaded; empty if all are whole."""
    changed_files: tuple[ChangedFile, ...] | Missing = NOT_ASKED
    """All files of the same packages that differ from RECORD by presence, size or hash; asked by --deep alone."""
    uv: bool | Missing = NOT_ASKED
    """Whether a `uv` is on PATH."""
    hidden_by: tuple[str, ...] | Missing = NOT_ASKED
    """Files in the working directory that `import torch` would take there before the installed package, by name alone:
    nothing of them is run."""

    def distribution(self, name: str) -> Distribution | Missing | None:
        """The distribution that an import would take (first in sys.path order), None if it is not installed."""
        if isinstance(self.distributions, Missing):
            return self.distributions
        return next((d for d in self.distributions if d.name == name), None)
