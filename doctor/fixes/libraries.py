"""Repair the CUDA libraries that torch loads: its pinned wheels, and the library path."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from compat_matrix.versions import numbers, torch_version

from ..findings import Fix, Matrix, Step
from ..snapshot import ABSENT, Distribution, Missing, Snapshot, known
from .install import Install, note, step
from .machine import names_no_system, wheel_platform
from .origin import both_installers
from .packages import installed, site_packages, uninstall_command, with_distributions
from .pins import Pin, absent_pins, applies, cuda_pins, library_of, requires
from .where import RECHECK, recheck_run


def _installed(s: Snapshot, pins: Sequence[Pin], drop: Sequence[str] = ()) -> dict[str, Any]:
    """What changes once these pinned wheels are installed."""
    site = site_packages(s)
    lines = {"torch": requires(s)}
    put = [Distribution(name=p.name, version=p.version, location=site, requires=lines.get(p.name, ())) for p in pins]
    changes: dict[str, Any] = {
        **recheck_run(s),
        "python.distributions": with_distributions(s, put, drop),
        "torch.missing_libraries": (),
    }
    for pin in pins:
        for library in ("cudnn", "nccl"):
            if pin.name.startswith(f"nvidia-{library}"):
                changes[f"torch.{library}_bundled"] = ".".join(pin.version.split(".")[:3])
    return changes


def install_pins(
    s: Snapshot,
    pins: Sequence[Pin],
    *,
    id: str,
    title: str,
    drop: Sequence[str] = (),
    again: bool = False,
) -> Fix:
    """Install wheels in exactly the versions that torch pins; first remove those in `drop`.

    `again`: also where that version is installed, as some of its files are not there.

    Wheels of different CUDA major versions share a folder: the right one must be written again after the other is gone.
    """
    steps: list[Step] = []
    if drop:
        steps.append(
            Step(
                text="Remove the wheels for the other CUDA version.",
                command=uninstall_command(s, drop),
                where="environment",
            )
        )
    names = tuple(pin.name for pin in pins) if drop or again else ()
    # What a pin with extras brings is pinned exactly too: nothing else is touched.
    request = Install(packages=tuple(pin.requirement for pin in pins), again=names, deps=any(p.extras for p in pins))
    steps.append(step(s, request, "Install the versions that torch pins.", changes=_installed(s, pins, drop)))
    return Fix(id=id, title=title, steps=tuple(steps), note=note(s, request))


def compilers_apart(s: Snapshot) -> list[tuple[Distribution, Distribution]]:
    """Wheels of nvcc and of the runtime for the same major, if they have two different CUDA versions."""
    have = {d.name: d for d in known(s.python.distributions) or ()}
    pairs = []
    for name, nvcc in have.items():
        if name.startswith("nvidia-cuda-nvcc"):
            runtime = have.get(name.replace("nvcc", "runtime"))
            if runtime and numbers(runtime.version)[:2] != numbers(nvcc.version)[:2]:
                pairs.append((nvcc, runtime))
    return [(one, other) for one, other in pairs if len(numbers(one.version)) > 1 and len(numbers(other.version)) > 1]


def compiler_of_runtime(s: Snapshot, nvcc: Distribution, runtime: Distribution) -> Fix:
    """The compiler's wheel for the CUDA of the runtime's, which torch pins."""
    cuda = ".".join(runtime.version.split(".")[:2])
    pin = Pin(nvcc.name, cuda, "", prefix=True)
    request = Install(packages=(pin.requirement,))
    text = f"Install the CUDA {cuda} compiler, which matches the headers that are already installed."
    changes = {"python.distributions": with_distributions(s, [replace(nvcc, version=runtime.version)])}
    title = f"Install {nvcc.name} {cuda}"
    return Fix(id="install-matching-nvcc-wheel", title=title, steps=(step(s, request, text, changes=changes),))


def reinstall_torch(s: Snapshot, m: Matrix, why: str = "") -> Fix:
    """Install the same build of torch again, with everything that it pins; vendors' builds come with their image."""
    parts = torch_version(known(s.torch.version) or "")
    if parts is None or parts.kind != "release":
        start = Step(
            text="Recreate the environment or container from its image: pip cannot download this build.",
            where="container-start",
            changes=_installed(s, []),
        )
        return Fix(id="fresh-environment", title="Start over from the image that ships this torch", steps=(start,))
    package, url = install_again_of(s, m)
    request = Install(packages=(package,), index=url, all_again=True)
    pins = [Pin("torch", parts.base, ""), *(pin for pin in cuda_pins(s) if applies(pin, s))]
    copies = installed(s, ("torch",))
    remove = both_installers(s, list(copies)) or Step(
        text="Repeat until nothing is left to uninstall.",
        where="environment",
        command=" && ".join([uninstall_command(s, ("torch",))] * len(copies)),
    )
    return Fix(
        id="reinstall-torch",
        title=f"Install torch {known(s.torch.version)} again{', ' + why if why else ''}",
        steps=(
            *((remove,) if len(copies) > 1 else ()),
            step(s, request, "Reinstall it with its dependencies.", changes=_installed(s, pins)),
        ),
        note=note(s, request),
    )


def install_again_of(s: Snapshot, m: Matrix) -> tuple[str, str]:
    """The requirement of the published build that is installed, and its index (empty: the default one)."""
    parts = torch_version(known(s.torch.version) or "")
    if parts is None:
        return "torch", ""
    row = m.torch_build(parts.base, parts.tag or parts.local or "cpu", wheel_platform(s))
    tag = parts.local or (m.pypi_tag(parts.base, wheel_platform(s)) if names_no_system(s) else "")
    index = m.index_url(parts.tag or tag) if tag else None
    plain = row is not None and row.pypi_default and not names_no_system(s)
    return f"torch=={parts.base}", index.url if index and not plain else ""


_WHEEL_OF = {
    "cudart": "cuda-runtime", "cublasLt": "cublas", "nvrtc": "cuda-nvrtc", "nvrtc-builtins": "cuda-nvrtc",
    "cupti": "cuda-cupti", "nvJitLink": "nvjitlink", "cusparseLt": "cusparselt", "nvToolsExt": "nvtx",
    "nvshmem_host": "nvshmem", "cusolverMg": "cusolver", "cufftw": "cufft", "cufile_rdma": "cufile",
}  # fmt: skip
"""Library to the middle of its wheel's name, where the two differ."""


def restore_libraries(s: Snapshot, m: Matrix, gone: Sequence[str] = ()) -> tuple[Fix, ...]:
    """Pinned wheels that are not installed, and those whose files are gone (sonames); else the whole of torch again."""
    absent, pins = absent_pins(s), [pin for pin in cuda_pins(s) if applies(pin, s)]
    damaged = []
    for soname in gone:
        part = soname.partition(".so")[0].removeprefix("lib")
        part = "cudnn" if part.startswith("cudnn") else _WHEEL_OF.get(part, part.lower())
        damaged += [pin for pin in pins if library_of(pin.name) == part and pin not in damaged and pin not in absent]
    whole = "Install the CUDA wheels that torch pins"
    if absent:
        return (install_pins(s, [*absent, *damaged], id="install-pinned-wheels", title=whole, again=bool(damaged)),)
    if damaged:
        title = f"Reinstall {', '.join(pin.name for pin in damaged)}, whose files are missing"
        return (install_pins(s, damaged, id="install-pinned-wheels", title=title, again=True),)
    return (reinstall_torch(s, m, "with its libraries"),)


def off_library_path(s: Snapshot, paths: Sequence[str]) -> Fix:
    """Take the folders of these libraries off LD_LIBRARY_PATH; unset it where they are not named in it as such."""
    folders = known(s.cuda.ld_library_path) or ()
    links = {i.real_path: i.path for i in known(s.cuda.libraries) or () if i.found_by == "LD_LIBRARY_PATH"}
    paths = [*paths, *(links[path] for path in paths if path in links)]
    bad = {folder for folder in folders for path in paths if path.rpartition("/")[0] == folder.rstrip("/")}
    rest = [folder for folder in folders if folder not in bad] if bad else []
    value = ":".join(rest)
    command = f"export LD_LIBRARY_PATH={shlex.quote(value)}" if rest else "unset LD_LIBRARY_PATH"
    named = f"{' and '.join(sorted(bad))} {'contains' if len(bad) == 1 else 'contain'} the other copy. " if bad else ""
    named += "" if rest or not bad else "The variable lists nothing else. "
    changes: dict[str, Any] = {**recheck_run(s), "cuda.ld_library_path": tuple(rest), "cuda.libraries": RECHECK}
    libraries = known(s.cuda.libraries)
    if libraries is not None:
        changes["cuda.libraries"] = tuple(
            item
            for item in libraries
            if item.found_by != "LD_LIBRARY_PATH" or (bad and item.path.rpartition("/")[0] not in bad)
        )
    shadow = s.torch.cudnn_shadow
    if not isinstance(shadow, Missing) and (not bad or shadow.rpartition("/")[0] in bad):
        changes["torch.cudnn_shadow"] = ABSENT
    environment = known(s.host.environment)
    if environment is not None:
        kept = tuple(v for v in environment if v.name != "LD_LIBRARY_PATH")
        old = next((v for v in environment if v.name == "LD_LIBRARY_PATH"), None)
        changes["host.environment"] = (*kept, type(old)(old.name, value)) if old and rest else kept
    return Fix(
        id="clear-ld-library-path",
        title=f"Remove {' and '.join(sorted(bad))} from LD_LIBRARY_PATH" if bad else "Unset LD_LIBRARY_PATH",
        steps=(
            Step(
                text=f"{named}The wheels find their own libraries; also remove the setting from ~/.bashrc, the "
                "Dockerfile (ENV) or the job script.",
                command=command,
                where="shell",
                changes=changes,
            ),
        ),
    )


def cudnn_wheels(m: Matrix, capability: str, major: int) -> Iterator[tuple[str, str]]:
    """(cuDNN version, wheel's version) of each that supports the GPU and has a wheel for this CUDA, newest first."""
    for row in sorted(m.cudnn_rows, key=lambda row: numbers(row.version), reverse=True):
        wheel = getattr(row, f"wheel_cu{major}", "") if major else ""
        if wheel and m.cudnn_for_gpu(row.version, capability, major).grade == "ok":
            yield row.version, wheel
