"""A fact that the verdict needs could not be read.

What is wrong: without this fact gpudoctor cannot tell whether the environment is healthy, and says so instead of
guessing. There may be nothing wrong with the environment.

Symptoms: the verdict is UNKNOWN, and the exit code is 3 if nothing else failed.

Why it happens: a sandbox (gVisor) without a PCI list and driver; no permission to read a file; a call that did not
return in time; pasted text that does not contain the fact.

How to fix it: run gpudoctor where the fact can be read (on the host, as root, or in a container that has the GPU), or
tell gpudoctor what to expect: `--expect any` if a GPU is not needed, `--expect none` if an image is being built.

If a GPU is expected, the driver's version, the list of GPUs and the result of cuInit are required. If PyTorch is
installed, so are its build, the architectures that it has code for, and the result of an `import torch` that was only
slow (--timeout gives it more time). Each package named by --require is required too. Each check named by --only is
required; if a check could not be judged, the finding with its id says why. If --skip leaves nothing to check, the
result is unknown too. An empty list does not count as an answer, nor does a list that was examined only in part.
Anything that you excluded with options is never required.

Source: gpudoctor's own rules for the verdict.
"""

from __future__ import annotations

from typing import Any

from ..findings import Check, Findings, Matrix, Policy
from ..snapshot import Missing, Snapshot, known
from ..snapshot.presence import no_sign
from ._code import conflict, witnesses
from ._seen import ALL_CAUSES, absent, is_wsl, nodes_of, nvidia_cards

CHECK = Check(
    __name__,
    title="A required fact is missing",
    sound="Every required fact could be read",
    severity="warning",
    layer="hardware",
    tags=("verdict",),
    downstream_of=(*ALL_CAUSES, "cuda-init-failed"),
    needs_gpu=False,
)

_GPU = ("driver.kernel_version", "gpus", "driver.cu_init", "driver.cuda_devices")
_TRIED = ("denied", "timeout", "error", "conflict")
"""gpudoctor looked and could not tell."""
_WORDS = {
    "driver.kernel_version": "the driver's version",
    "gpus": "the list of GPUs",
    "driver.cu_init": "whether CUDA starts (cuInit)",
    "driver.cuda_devices": "which GPUs CUDA lists",
    "torch.version": "whether torch is installed",
    "torch_run.imported": "whether torch can be imported",
    "torch.build": "which build of torch is installed",
    "torch.sass": "the GPU architectures that torch was built for",
    "python.distributions": "the installed packages",
}


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """One unknown for each required fact that is Missing and whose absence is not explained by the same facts."""
    of_gpus = _of_gpu(s, p)
    if of_gpus and (cap := s.cap("gpus") or (s.cap("cuda-devices") if isinstance(s.gpus, Missing) else None)):
        title, facts = "Unknown: the state of all GPUs", {"looked": cap.looked, "listed": cap.listed}
        yield CHECK.unknown(title, f"gpudoctor examined {cap.words}.", facts=facts, subject="gpus", layer="driver")
    for path in (*of_gpus, *_of_torch(s, p)):
        if any(path == left or path.startswith(f"{left}.") for left in p.left_out):
            continue
        fact = _value(s, m, path)
        if not isinstance(fact, Missing):
            continue
        of_gpu = path in _GPU
        words = "the state of the GPUs" if path == "gpus" and not isinstance(s.gpus, Missing) else _WORDS[path]
        yield CHECK.unknown(
            f"Unknown: {words}",
            _why(fact),
            facts={"fact": path, "reason": fact.reason},
            subject=path,
            layer="driver" if of_gpu else "python",
            downstream_of=CHECK.downstream_of if of_gpu else (),
        )


def _value(s: Snapshot, m: Matrix, path: str) -> Any:
    """The fact, or what another witness says in its place."""
    if path == "driver.kernel_version":
        return s.driver.version
    if path == "gpus" and not s.driver.faults and (cut := _cut_off(s)):
        return cut
    if path == "gpus" and isinstance(s.gpus, Missing) and s.driver.cu_init == 0:
        return s.driver.cuda_devices or s.gpus  # without NVML (Jetson, no 'utility')
    if path == "torch.sass" and (clash := conflict(s, m)):
        return Missing("conflict", clash)
    if path == "torch.sass" and (not s.torch.sass or isinstance(s.torch.sass, Missing)):
        if any(code.direct for code in witnesses(s, m)):
            return ()  # PTX alone, or torch's own list
        return s.torch.sass or Missing("absent", "no GPU code was found in torch's libraries")
    return s.fact(path)


def _of_gpu(s: Snapshot, p: Policy) -> tuple[str, ...]:
    if p.expect.kind == "none" or known(s.host.wsl) == 1:
        return ()
    cards = nvidia_cards(s)
    if cards == [] and not is_wsl(s) and not _listed(s) and not nodes_of(s, "tegra"):
        return ()  # no NVIDIA GPU on the bus: no-nvidia-gpu says all there is to say
    if p.expect.kind == "any" and no_sign(s):
        return ()
    devices = s.driver.cuda_devices
    late = isinstance(devices, Missing) and devices.reason == "timeout" and not s.driver.faults
    return _GPU if late else _GPU[:-1]


def _cut_off(s: Snapshot) -> Missing | None:
    """Why NVML did not finish reading the GPUs: it was slow, or had no core to run on."""
    if isinstance(s.gpus, Missing):
        return s.gpus if s.gpus.reason == "timeout" else None
    facts = (getattr(gpu, name) for gpu in s.gpus for name in gpu.__struct_fields__)
    return next((fact for fact in facts if isinstance(fact, Missing) and fact.reason == "timeout"), None)


def _listed(s: Snapshot) -> bool:
    """Whether NVML or CUDA lists a GPU."""
    return any(not isinstance(fact, Missing) and len(fact) > 0 for fact in (s.gpus, s.driver.cuda_devices))


def _of_torch(s: Snapshot, p: Policy) -> tuple[str, ...]:
    paths: tuple[str, ...] = ()
    if p.require and "torch" not in p.require:
        paths = ("python.distributions",)
    elif p.require:
        paths = ("python.distributions", *(("torch.version",) if not absent(s.torch.version) else ()))
    if isinstance(s.torch.version, Missing):
        unread = s.torch.version.reason in _TRIED or (p.expect.kind == "none" and not absent(s.torch.version))
        return (*paths, "torch.version") if unread and "torch.version" not in paths else paths
    paths += ("torch.build",)
    if isinstance(s.torch_run.imported, Missing) and s.torch_run.imported.reason == "timeout":
        paths += ("torch_run.imported",)
    return (*paths, "torch.sass") if s.torch.build == "cuda" else paths


def _why(fact: Missing) -> str:
    words = {
        "absent": "gpudoctor looked for it and did not find it",
        "denied": "this user has no permission to read it",
        "timeout": "no response arrived in time",
        "error": "the attempt failed with an error",
        "not-asked": "it was not examined",
        "conflict": "the sources disagree",
        "recheck": "only a new check can tell",
    }
    why = f"{words[fact.reason]}: {fact.detail}" if fact.detail else words[fact.reason]
    return f"{why[:1].upper()}{why[1:].rstrip('.')}."
