"""Compilers, headers and toolkits: system packages, or conda packages in a conda environment."""

from __future__ import annotations

from shlex import quote
from typing import Any

from msgspec.structs import replace

from compat_matrix.versions import numbers

from ..findings import Fix, Matrix, Step
from ..findings.patterns import lazy
from ..snapshot import Missing, Snapshot, Toolkit, known
from .distribution import install_line, manager
from .install import conda_line
from .machine import without_code
from .selection import environment_with
from .where import RECHECK, container_kind, lasting, sudo

GCC = lazy(r"(^|/)(?:gcc|cc)(?:-(\d+))?$")


def system_install(s: Snapshot, apt: str, dnf: str, zypper: str = "", pacman: str = "") -> str:
    """The command of the system that the patient runs in (inside a container: the container's); '' if not known."""
    return install_line(s, sudo(s), {"apt-get": apt, "dnf": dnf, "zypper": zypper or dnf, "pacman": pacman})


def install_packages(s: Snapshot, *, id: str, title: str, text: str, command: str, changes: dict[str, Any]) -> Fix:
    """One step with the system's package manager; in a container it belongs into the image too."""
    note = "\n".join(lasting(s, command.replace("sudo ", "")))
    own = command.startswith("conda ")
    if container_kind(s) == "apptainer" and not own:  # its image cannot be written to
        text += " Add it to the image's definition file and rebuild the image."
        line = f"%post\n    {command.replace('sudo ', '')}"
        step = Step(text=text, command=line, where="dockerfile", changes=changes)
        return Fix(id=id, title=f"{title} in the image", steps=(step,))
    step = Step(
        text=text,
        command=command,
        where="shell",
        needs_root=not own,
        changes=changes,
        possible_here=own or known(s.host.user_is_root) is not False,
    )
    return Fix(id=id, title=title, steps=(step,), note=note)


def c_compiler(s: Snapshot, plus: bool = False) -> Fix:
    """gcc for what compiles C at run time; `plus`: for C++ too."""
    prefix = known(s.python.patient.prefix)
    changes: dict[str, Any] = {"cuda.c_compiler": "/usr/bin/gcc", "cuda.gcc_version": RECHECK}
    command = (
        system_install(s, "g++", "gcc-c++", pacman="gcc")
        if plus
        else system_install(s, "gcc libc6-dev", "gcc glibc-devel", pacman="gcc")
    )
    if known(s.python.patient.kind) == "conda" and not known(s.host.user_is_root):
        package = "gxx" if plus else "gcc"
        command = conda_line(s, [package])
        changes["cuda.c_compiler"] = f"{prefix or '$CONDA_PREFIX'}/bin/gcc"
    kind = "C++" if plus else "C"
    text = f"A small {kind} file is compiled at run time; this does not need a CUDA toolkit."
    return install_packages(
        s, id="install-c-compiler", title=f"Install a {kind} compiler", text=text, command=command, changes=changes
    )


def python_headers(s: Snapshot) -> Fix:
    """Python.h of the patient's interpreter."""
    version = ".".join((known(s.python.patient.version) or "3").split(".")[:2])
    command = system_install(
        s, f"python{version}-dev", f"python{version}-devel", f"python{version.replace('.', '')}-devel", "python"
    )
    return install_packages(
        s,
        id="install-python-headers",
        title=f"Install the headers of Python {version}",
        text="The code compiled at run time includes Python.h.",
        command=command,
        changes={"python.patient.headers": True},
    )


def has_no_compiler(s: Snapshot) -> bool:
    """Whether it is known that there is neither a gcc of the system nor any compiler on PATH."""
    version = s.cuda.gcc_version
    return isinstance(version, Missing) and version.reason == "absent" and s.cuda.c_compiler is None


def gcc_in_use(s: Snapshot) -> str | None:
    """The version of gcc that nvcc would be given: by the name in CC, else of gcc; None where it is not known."""
    compiler = s.host.env("CC")
    named = GCC.search(compiler.strip()) if isinstance(compiler, str) else None
    return named[2] if named and named[2] else known(s.cuda.gcc_version)


def gcc_limit(m: Matrix, nvcc: str) -> int | None:
    """The newest gcc that a nvcc accepts (its own third number is not the toolkit's)."""
    row = m.toolkit(".".join(nvcc.split(".")[:2]))
    return row.host_gcc_max_major if row else None


def older_gcc(s: Snapshot, limit: int) -> Fix:
    """A second gcc next to the system's, named in CC and CXX."""
    if container_kind(s) == "apptainer":
        step = _older_gcc(s, limit)
        return install_packages(
            s,
            id="older-gcc",
            title=f"Compile with gcc {limit}",
            text=step.text,
            command=step.command,
            changes=step.changes,
        )
    return Fix(id="older-gcc", title=f"Compile with gcc {limit}", steps=(_older_gcc(s, limit),))


def _older_gcc(s: Snapshot, limit: int) -> Step:
    beside = f"gcc{limit} gcc{limit}-c++"
    install = system_install(s, f"gcc-{limit} g++-{limit}", f"gcc-toolset-{limit}-gcc-c++", beside, f"gcc{limit}")
    folder = f"/opt/rh/gcc-toolset-{limit}/root/usr/bin" if manager(s) == "dnf" else ""
    compilers = (f"{folder}/gcc", f"{folder}/g++") if folder else (f"gcc-{limit}", f"g++-{limit}")
    changes: dict[str, Any] = {
        "host.environment": environment_with(s, "CC", compilers[0]),
        "cuda.c_compiler": compilers[0] if folder else f"/usr/bin/gcc-{limit}",
        "cuda.gcc_version": f"{limit}.0.0",
    }
    return Step(
        text="The system keeps its own gcc; the variables apply to this shell.",
        where="shell",
        command=f"{install}{install and ' && '}export CC={compilers[0]} CXX={compilers[1]}",
        needs_root=True,
        possible_here=known(s.host.user_is_root) is not False,
        changes=changes,
    )


def _with_gcc(s: Snapshot, m: Matrix, cuda: str, step: Step) -> tuple[Step, ...]:
    """The step, and a gcc that this nvcc accepts where the present one is too new for it."""
    limit, have = gcc_limit(m, cuda), numbers(gcc_in_use(s))
    return (step, _older_gcc(s, limit)) if limit and have[:1] > (limit,) else (step,)


def toolkit_for(s: Snapshot, cuda: str) -> Toolkit | None:
    """An installed toolkit with nvcc of this very CUDA version, else of its major; None where there is none."""
    kits = [kit for kit in known(s.cuda.toolkits) or () if known(kit.nvcc)]
    major = cuda.partition(".")[0]
    same = [kit for kit in kits if (known(kit.nvcc) or "").startswith(cuda)]
    kin = [kit for kit in kits if (known(kit.nvcc) or "").partition(".")[0] == major]
    return next(iter(same or kin), None)


def nvcc(s: Snapshot, m: Matrix, cuda: str) -> tuple[Fix, ...]:
    """A nvcc of this CUDA version: one that is there already, else installed; with the cards it cannot compile for."""
    return tuple(_with_cards(s, m, cuda, fix) for fix in _nvcc(s, m, cuda))


def _with_cards(s: Snapshot, m: Matrix, cuda: str, fix: Fix) -> Fix:
    row = m.toolkit(cuda)
    lost = without_code(s, m, row.sm_targets.__contains__) if row else []
    if not lost:
        return fix
    first, *rest = fix.steps
    text = f"It cannot compile for {' and '.join(lost)}: that needs a different torch and its toolkit. {first.text}"
    return replace(fix, steps=(replace(first, text=text), *rest))


def _nvcc(s: Snapshot, m: Matrix, cuda: str) -> tuple[Fix, ...]:
    found = toolkit_for(s, cuda)
    if found:
        version = known(found.nvcc) or cuda
        step = Step(
            text="Use the toolkit that is already installed.",
            where="shell",
            command=_export(found.path),
            changes=_with_nvcc(s, found.path, version),
        )
        title = f"Use the CUDA {version} toolkit in {found.path}"
        return (Fix(id="use-installed-toolkit", title=title, steps=_with_gcc(s, m, version, step)),)
    major, _, minor = cuda.partition(".")
    path, package, fixes = f"/usr/local/cuda-{cuda}", quote(f"cuda-toolkit-{major}-{minor}"), []
    prefix = known(s.python.patient.prefix)
    if known(s.python.patient.kind) == "conda":
        step = Step(
            text="Install it into the environment that was examined.",
            where="environment",
            command=conda_line(s, [f"cuda-toolkit={cuda}"], "nvidia"),
            changes=_with_nvcc(s, prefix or "$CONDA_PREFIX", cuda),
        )
        title = f"Install the CUDA {cuda} toolkit with conda"
        fixes.append(Fix(id="install-toolkit-conda", title=title, steps=_with_gcc(s, m, cuda, step)))
    install = system_install(s, package, package)
    system = install_packages(
        s,
        id="install-toolkit",
        title=f"Install the CUDA {cuda} toolkit",
        changes=_with_nvcc(s, path, cuda),
        text=f"Install it from NVIDIA's repository (without a driver); then export CUDA_HOME={path}."
        if install
        else f"NVIDIA has no packages for this system: use the runfile for CUDA {cuda} from its archive "
        f"(developer.nvidia.com/cuda-toolkit-archive), without its driver; then export CUDA_HOME={path}.",
        command=f"{install} && {_export(path)}" if install else _export(path),
    )
    return (*fixes, replace(system, steps=_with_gcc(s, m, cuda, system.steps[0])))


def _export(path: str) -> str:
    return f"export CUDA_HOME={quote(path)} PATH={quote(f'{path}/bin')}:$PATH"


def _with_nvcc(s: Snapshot, path: str, version: str) -> dict[str, Any]:
    kits = known(s.cuda.toolkits) or ()
    new = () if any(kit.path == path for kit in kits) else (Toolkit(path=path, version=version, nvcc=version),)
    return {
        "cuda.toolkits": (*kits, *new),
        "cuda.cuda_home": path,
        "cuda.nvcc_on_path": f"{path}/bin/nvcc",
        "cuda.nvcc_version": version,
    }
