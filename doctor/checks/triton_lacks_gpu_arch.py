"""Triton, or the assembler inside its wheel, does not support this GPU.

What is wrong: Triton compiles kernels at run time with its own LLVM and its own copy of ptxas. They cannot compile for
a GPU that is newer than they are. PyTorch's ordinary kernels still run.

Symptoms: `'sm_120' is not a recognized processor for this target`, `ptxas fatal: Value 'sm_121a' is not defined
for option 'gpu-name'`, from torch.compile, vllm, sglang or a Triton kernel only.

Why it happens: PyTorch 2.6 and older come with Triton 3.2 or older, which supports no compute capability above 9.0
(Hopper). Triton 3.3 to 3.5 support 10.0 and 12.0, but neither 10.3 (B300) nor 12.1 (GB10). Triton 3.6 added those two,
and Triton 3.7 added 11.0 (Thor).

How to fix it: install a newer PyTorch, which comes with its own Triton; or, if only ptxas is too old, set
TRITON_PTXAS_PATH to the ptxas of a newer CUDA toolkit (Triton 3.6 and newer read TRITON_PTXAS_BLACKWELL_PATH instead,
for compute capability 10.0 and newer).

This is a warning, because PyTorch works without Triton. It is a failure if a package that cannot work without Triton is
installed, or if the error message was seen.

Source: targets named in ptxas and libtriton.so in the wheels on PyPI (Linux x86_64), Triton 2.0.0 to 3.9.0.
"""

from __future__ import annotations

from compat_matrix.versions import numbers

from ..findings import Check, Findings, Fix, Matrix, Policy, Skip, Step
from ..findings.patterns import lazy
from ..fixes.install import Install, ways
from ..fixes.selection import environment_with
from ..fixes.toolchain import toolkit_for
from ..fixes.torch import install_torch
from ..snapshot import Distribution, Snapshot, known, need
from ._errors import first_line, texts
from ._jit import TRITONS, triton, users
from ._torch import NO_CODE, cuda_build, gpus, unlisted

CHECK = Check(
    __name__,
    title="Triton does not support this GPU",
    sound="Triton was not found to be too old for the GPU",
    severity="error",
    layer="extension",
    tags=("torch", "extension", "gpu"),
    downstream_of=(*NO_CODE, "no-nvidia-gpu", "torch-companion-mismatch"),
    source="PyPI: triton, ptxas and libtriton.so in its wheels",
)

_FIRST = {"10.0": (3, 3), "12.0": (3, 3), "10.3": (3, 6), "12.1": (3, 6), "11.0": (3, 7), "10.7": (3, 9)}
"""Compute capability -> first Triton whose LLVM and ptxas both name it."""
_LLVM = {"12.1": (3, 4), "10.3": (3, 4), "11.0": (3, 5)}
"""Compute capability -> first Triton whose LLVM names it, if its ptxas came later."""
_WITH_TWO = (3, 6)
"""The first Triton with a ptxas of its own for compute capability 10.0 and newer (get_ptxas in its compiler.py)."""
_ERROR = lazy(r"'sm_\d+\w?' is not a recognized processor|ptxas\S* fatal\s*:\s*Value 'sm_\d+\w?' is not defined")


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns (or fails) for each GPU newer than the installed Triton."""
    need("python.distributions", s.python.distributions)
    error = _ERROR.search(texts(s))
    found = triton(s)
    if found is None:
        if error:
            yield CHECK.fail("Triton does not support this GPU", first_line(texts(s)), facts={"said": error[0]})
            return
        raise Skip("Triton is not installed", without="triton")
    cuda_build(s)
    have = numbers(found.version)[:2]
    if named := [name for name in _variables(s, m, have) if isinstance(v := s.host.env(name), str) and v]:
        raise Skip(f"{named[0]} names a different assembler")
    for gpu in gpus(s, m):
        if gpu.capability and m.compute_capability(gpu.capability) is None:
            raise unlisted(f"compute capability {gpu.capability} is not listed in this matrix")
        first = _FIRST.get(gpu.capability)
        if first is None or not have or have >= first:
            continue
        needs = f"this GPU needs Triton {first[0]}.{first[1]} or newer"
        title = f"Triton {found.version} does not support {gpu.name} ({gpu.capability}): {needs}"
        who = users(s)
        detail = "torch.compile and Triton kernels fail on it; torch's own kernels do not depend on Triton."
        if who:
            detail += f" {', '.join(who)} cannot work without Triton."
        facts = {"triton": found.version, "compute_capability": gpu.capability, "first": f"{first[0]}.{first[1]}"}
        say = CHECK.fail if error or who else CHECK.warn
        fixes = _fixes(s, m, gpu.capability, have)
        yield say(title, detail, facts=facts, subject=gpu.key, direct=bool(error), fixes=fixes)


def _variable(capability: str, have: tuple[int, ...]) -> str:
    """The variable that names the ptxas of this Triton for this GPU."""
    blackwell = have >= _WITH_TWO and numbers(capability) >= (10, 0)
    return "TRITON_PTXAS_BLACKWELL_PATH" if blackwell else "TRITON_PTXAS_PATH"


def _variables(s: Snapshot, m: Matrix, have: tuple[int, ...]) -> list[str]:
    return [_variable(gpu.capability, have) for gpu in gpus(s, m) if gpu.capability]


def _fixes(s: Snapshot, m: Matrix, capability: str, have: tuple[int, ...]) -> tuple[Fix, ...]:
    found = []
    row = m.compute_capability(capability)
    kit = toolkit_for(s, row.first_toolkit) if row else None
    if kit and row and have >= _LLVM.get(capability, (99,)) and numbers(known(kit.nvcc)) >= numbers(row.first_toolkit):
        name, value = _variable(capability, have), f"{kit.path}/bin/ptxas"
        changes = {"host.environment": environment_with(s, name, value)}
        step = Step(
            text="Triton's LLVM and the assembler in the installed toolkit both support the GPU.",
            where="shell",
            command=f"export {name}={value}",
            changes=changes,
        )
        found.append(Fix(id="set-triton-ptxas-path", title="Use the toolkit's ptxas", steps=(step,)))
    newer = install_torch(s, m, newest=True)
    if newer:
        after = [v for step in newer.steps if isinstance(v := step.changes.get("torch.version"), str)]
        torch = after[-1].partition("+")[0] if after else ""
        brings = next((e.version for e in m.companions(torch) if e.package == "triton"), "") if torch else ""
        if numbers(brings)[:2] >= _FIRST[capability]:
            found.append(newer)
    first = ".".join(map(str, _FIRST[capability]))
    put = tuple(
        Distribution(name=d.name, version=f"{first}.0", location=d.location) if d.name in TRITONS else d
        for d in known(s.python.distributions) or ()
    )
    step = Step(
        text="This breaks torch's own version pin, so use it only to try it out.",
        where="environment",
        **ways(s, Install(packages=(f"triton>={first},<{first[0]}.{int(first[2:]) + 1}",), deps=False)),
        changes={"python.distributions": put},
    )
    found.append(Fix(id="newer-triton", title=f"Install only Triton {first}", steps=(step,)))
    return tuple(found)
