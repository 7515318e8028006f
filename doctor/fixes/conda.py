"""torch in a conda environment: a conda-forge build from the matrix, or a note that there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from compat_matrix.versions import numbers
from compat_matrix.which_torch import Which, kept_release, minor_of

from ..findings import Fix, Step
from ..snapshot import ABSENT, Distribution, Missing, Snapshot, known
from .extensions import without_libraries
from .install import conda_line
from .machine import capabilities, driver_version, jetson, python_version
from .packages import site_packages, with_distributions
from .where import RECHECK
from .which_torch import Choice

if TYPE_CHECKING:
    from compat_matrix import Matrix
    from compat_matrix.conda import CondaChoice

NO_LINE = "No conda command is given: gpudoctor knows of no conda-forge build that fits this GPU, driver and Python."


def choose(
    s: Snapshot, m: Matrix, choice: Choice, gpus: Sequence[str] | None = None, any_driver: bool = False, keep: str = ""
) -> tuple[CondaChoice, str] | None:
    """conda-forge's build for this machine, by the same policy as `which_torch`, whose choice is `choice`; and the
    sentence that says so: of the release `keep`, else of its minor release, else of what `resolve` recommends."""
    if known(s.host.system) not in ("linux", "windows") or jetson(s, m):
        return None
    system = "wsl" if known(s.host.wsl) in (1, 2) else known(s.host.system) or "linux"
    wanted = list(capabilities(s, m)) if gpus is None else list(gpus)
    driver = None if any_driver else driver_version(s, m)
    found = m.conda_builds(wanted, driver, system, known(s.host.architecture) or "x86_64", python_version(s))
    if not found:
        return None
    base, minor = kept_release(keep)
    recommended = choice.recommended
    of_it = [one for one in found if one.row.torch == base]
    of_it += [one for one in found if minor and minor_of(one.row.torch) == minor]
    best = next(iter(of_it), next((one for one in found if one.row.torch == recommended), found[0]))
    newest = max(found, key=lambda one: numbers(one.row.torch)).row
    which = Which(
        torch=best.row.torch, cuda=best.row.cuda, newest=newest.torch, newest_cuda=newest.cuda, installed=minor
    )
    if which.keeps or best.row.torch == recommended:
        return best, which.sentence
    lacks = f"conda-forge has no compatible build of torch {recommended}, which gpudoctor resolve recommends"
    return best, f"{lacks}; the newest that fits is torch {newest.torch} for CUDA {newest.cuda}."


def install_from_conda(
    s: Snapshot,
    m: Matrix,
    chosen: tuple[CondaChoice, str],
    names: Sequence[str],
    recheck: dict[str, Any],
    id: str,
    title: str,
) -> Fix:
    """One transaction that replaces torch and these companions. `recheck`: torch's own answers, to be asked again."""
    choice, which = chosen
    row = choice.row
    word = f"conda-forge's torch {row.torch} for CUDA {row.cuda}"
    line = conda_line(s, [choice.spec, *names[1:]])
    note = f"{choice.why[0].upper()}{choice.why[1:]}." if choice.why else ""
    cuda = s.driver.cuda_version
    if isinstance(cuda, Missing) and cuda.reason == "absent":  # conda asks libcuda too, and wants its answer
        line = f"CONDA_OVERRIDE_CUDA={row.cuda} {line}"
        note = "conda sees no driver here, so the command names the CUDA version of the machine that torch will run on."
    install = Step(
        text=f"Install {word}.",
        command=line,
        where="environment",
        changes={**_torch(s, choice), **recheck, **_packages(s, m, choice, names)},
    )
    note = f"{which}\n{note}" if note else which
    return Fix(id=id, title=title or f"Install {word}", steps=(install,), note=note, source=m.source(row.source))


def _torch(s: Snapshot, choice: CondaChoice) -> dict[str, Any]:
    row, site = choice.row, site_packages(s)
    facts: dict[str, Any] = {f"torch.{name}": RECHECK for name in s.torch.__struct_fields__}
    kinds = (("sm", row.sass), ("compute", row.ptx))
    text = tuple(f"{kind}_{cc.replace('.', '')}" for kind, archs in kinds for cc in archs)
    known_now = {
        "version": row.torch, "location": f"{site}/torch", "build": "cuda", "cuda": row.cuda, "hip": ABSENT,
        "debug": False, "installer": "conda", "sass": row.sass, "ptx": row.ptx, "arch_text": text,
        "missing_libraries": (), "requires": (),
    }  # fmt: skip
    facts.update({f"torch.{name}": value for name, value in known_now.items()})
    return {**facts, "python.patient.torch_version": row.torch}


def _packages(s: Snapshot, m: Matrix, choice: CondaChoice, names: Sequence[str]) -> dict[str, Any]:
    site = site_packages(s)
    of_release = {e.package: e.version for e in m.companions(choice.row.torch)}
    put = [Distribution(name="torch", version=choice.row.torch, location=site, installer="conda", requires=())]
    put += [
        Distribution(name=n, version=of_release[n], location=site, installer="conda")
        for n in names[1:]
        if n in of_release
    ]
    return {"python.distributions": with_distributions(s, put), **without_libraries(s, names)}
