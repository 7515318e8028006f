"""An image against hosts, before it is started: the catalogue's verdict on both together, the matrix's grade."""

from __future__ import annotations

from msgspec.structs import replace

from compat_matrix.versions import numbers

from ..findings import Matrix, Policy
from ..snapshot import ABSENT, NOT_ASKED, Missing, Snapshot, join, known
from ..snapshot.require import Required, required
from .judge import judge
from .preflight_answer import Grade, HostAnswer, Label
from .report import Report, Verdict

_LOOK = " (--layers reads the layers)"
_NO_CODE = ("torch-lacks-new-gpu-sm", "torch-dropped-old-gpu-sm", "driver-too-old-for-gpu", "driver-dropped-gpu",
            "open-kernel-module-required", "cpu-only-torch", "torch-build-for-other-vendor")  # fmt: skip
"""Findings after which no driver version helps, or none of this torch's code runs."""


def needed(image: Snapshot) -> tuple[str, str]:
    """(CUDA version, what asks for it) of what the image really holds: its torch's before its own; empty: unknown."""
    cuda, version = known(image.torch.cuda), known(image.torch.version)
    if cuda:
        return cuda, f"torch {version or ''}".rstrip() + f", built with CUDA {cuda}"
    base = known(image.container.image_cuda)
    if base and known(image.torch.build) in (None, "cuda"):
        short = ".".join(base.split(".")[:2])
        return short, f"the image's CUDA {short}"
    return "", ""


def lowest_driver(m: Matrix, cuda: str) -> str:
    """The lowest Linux driver that runs programs of this CUDA version; empty if the matrix does not say."""
    grade = m.driver_for_cuda("1", cuda)
    return grade.floor_minor or grade.floor_full


def preflight(image: Snapshot, host: Snapshot, name: str, m: Matrix, policy: Policy) -> tuple[HostAnswer, Report]:
    """The answer for one host, and the whole report of both together."""
    both = _mounted(_contained(join(image, host), host))
    cuda, what = needed(image)
    driver = known(both.driver.version) or ""
    if cuda and driver and m.driver_for_cuda(driver, cuda).grade == "needs-forward-compat":
        both = with_compat(both, m)
    report = judge(both, m, policy)
    gpus = tuple(known(g.name) or f"compute capability {known(g.compute_capability)}" for g in known(both.gpus) or ())
    grade, forward, why = _other_machine(image, host) or _graded(both, m, cuda, what, report)
    answer, lowest = _requirement(both, m), _lowest_here(both, m, cuda)
    verdict = _verdict(report, grade, forward, _compat_loads(both))
    by_driver = m.driver_for_cuda(driver, cuda).grade if cuda and driver else "unknown"
    if by_driver == "needs-forward-compat" and verdict == "pass":
        by_driver = "native"  # the image's own libcuda serves
    label, words = _label(answer, by_driver, what, lowest)
    if verdict in ("pass", "warn") and (left := _left_open(both, m, report, answer)):
        verdict, why = "unknown", f"{why}; {left}"
    return (
        HostAnswer(
            host=name,
            driver=driver,
            gpus=gpus,
            verdict=verdict,
            grade=grade,
            forward_compat=forward,
            why=why,
            lowest_driver=lowest,
            label=label,
            label_words=words,
            hook=answer.hook.satisfied if answer else None,
            toolkit=answer.toolkit.satisfied if answer else None,
            findings=report.findings,
        ),
        report,
    )


def exit_code(hosts: tuple[HostAnswer, ...]) -> int:
    """1 where the image does not run on some host, 3 where that is not known of one, else 0."""
    verdicts = {one.verdict for one in hosts}
    return 1 if "fail" in verdicts else 3 if "unknown" in verdicts else 0


def _contained(both: Snapshot, host: Snapshot) -> Snapshot:
    """A host that was itself seen from inside a container starts the image by the same engine."""
    kind = known(host.container.kind)
    return both if kind in (None, "none") else both.replace({"container.kind": kind})


def _mounted(both: Snapshot) -> Snapshot:
    """Which of the driver's libraries come in: without `compute` no libcuda, without `utility` no NVML."""
    text = known(both.container.driver_capabilities)
    words = {word.strip() for word in text.lower().split(",")} if text else {"all"}
    changes: dict[str, object] = {}
    if not words & {"all", "compute"}:
        changes["driver.libcuda_path"] = ABSENT
    if not words & {"all", "utility"}:
        changes["driver.nvml_library_path"] = ABSENT
    return both.replace(changes)


def with_compat(both: Snapshot, m: Matrix) -> Snapshot:
    """Which libcuda loads: the container toolkit puts an image's cuda-compat before the host's where it is newer."""
    driver = numbers(known(both.driver.version) or "")
    for library in known(both.container.compat) or ():
        brought = numbers(known(library.version) or "") or _branch_of(m, known(library.cuda_version) or "")
        if driver and brought and brought[0] > driver[0] and isinstance(library.loads, Missing):
            loads = tuple(replace(one, loads=one == library) for one in known(both.container.compat) or ())
            return both.replace({"container.compat": loads, "driver.libcuda_path": library.path})
    return both


def _branch_of(m: Matrix, cuda: str) -> tuple[int, ...]:
    row = next((row for row in m.compat_packages if row.cuda == cuda), None)
    return (row.from_branch,) if row else ()


def _compat_loads(s: Snapshot) -> bool:
    return any(one.loads is True for one in known(s.container.compat) or ())


def _verdict(report: Report, grade: Grade, forward: str, compat_loads: bool) -> Verdict:
    """The judge's verdict, except that a driver which the matrix finds too old for what is inside is not a success."""
    if report.verdict == "fail" or grade == "impossible" or forward in ("not-on-this-gpu", "not-on-this-driver"):
        return "fail"
    if report.verdict == "unknown" or grade == "unknown" or (forward and not (compat_loads and forward == "possible")):
        return "unknown"
    return report.verdict


def _other_machine(image: Snapshot, host: Snapshot) -> tuple[Grade, str, str] | None:
    """Where the image is for another processor than the host's."""
    ours, theirs = known(image.host.architecture), known(host.host.architecture)
    if not ours or not theirs or ours == theirs:
        return None
    return "impossible", "", f"the image is for {ours}, but this host is {theirs}"


def _left_open(s: Snapshot, m: Matrix, report: Report, answer: Required | None) -> str:
    """What keeps a success from being certain; empty if nothing does."""
    if answer and answer.hook.satisfied is None:
        return (
            f"whether {answer.hook.variable} lets the image start ({answer.hook.term}) depends on the GPU's brand: "
            "specify the brand"
        )
    if not _code_unknown(s, m, report):
        return ""
    named = known(s.torch.version) is not None
    text = "whether its torch has code for this GPU" if named else "which torch is installed"
    return f"the image's config does not show {text}{_look(s)}"


def _look(s: Snapshot) -> str:
    return _LOOK if s.python.distributions == NOT_ASKED else ""


def _code_unknown(s: Snapshot, m: Matrix, report: Report) -> bool:
    """Whether there is a torch for which it is unknown whether it has code for the GPUs."""
    if known(s.torch.version) is None:  # an install that names no version has a witness all the same
        return "torch.version" in s.witnesses and not _any_build_serves(s, m)
    return bool(known(s.gpus)) and any(one.id in _NO_CODE[:2] and one.status == "unknown" for one in report.checks)


def _any_build_serves(s: Snapshot, m: Matrix) -> bool:
    """Torch is installed without a version from the index of one CUDA: whichever release it is, it has code."""
    tag, cuda = known(s.torch.wheel_tag), known(s.torch.cuda) or ""
    platform = "linux_aarch64" if known(s.host.architecture) == "aarch64" else "linux_x86_64"
    builds = [b for b in m.builds if tag and b.tag == tag and b.platform == platform and b.sass]
    levels = {cc for g in known(s.gpus) or () if (cc := known(g.compute_capability))}
    grades = [m.code_for_gpu(cc, b.sass, b.ptx, None, cuda).kind for b in builds for cc in levels]
    return bool(builds) and all(kind in ("sass", "ptx-jit") for kind in grades)


def _graded(s: Snapshot, m: Matrix, cuda: str, what: str, report: Report) -> tuple[Grade, str, str]:
    """(grade, whether forward compatibility is for it, why)."""
    driver = known(s.driver.version)
    stopped = next((f for f in report.findings if f.status == "fail" and f.id in _NO_CODE), None)
    if stopped:
        return "impossible", "", stopped.title
    if not cuda:
        return "unknown", "", f"nothing in the image shows which CUDA version it needs{_look(s)}"
    if not driver:
        return "unknown", "", "the host's driver is unknown"
    grade = m.driver_for_cuda(driver, cuda)
    why = f"{what}: {grade.reason}"
    if grade.grade == "native":
        return "native", "", why
    if grade.grade == "minor-version":
        return "minor-version", "", why
    if grade.grade == "unknown":
        return "unknown", "", grade.reason
    if grade.grade != "needs-forward-compat":
        return "impossible", "", why
    cards = known(s.gpus) or ()
    hosts, brands = _allowed(s)
    grades = [
        m.forward_compat(
            cuda, driver, gpu_name=known(g.name), brand_id=known(g.brand_id), note_hosts=hosts, note_brands=brands
        )
        for g in cards
    ]
    worst = next((one for one in grades if one.grade != "possible"), grades[0] if grades else None)
    if worst is None:
        return "forward-compat", "unknown", why
    return "forward-compat", worst.grade, f"{why}; {worst.reason}"


def _allowed(s: Snapshot) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Driver branches and brands that the image's cuda-compat itself allows, where its own list was read."""
    every = known(s.container.compat) or ()
    library = next((one for one in every if one.loads is True), every[0] if every else None)
    return (known(library.host_branches), known(library.brand_ids)) if library else (None, None)


def _lowest_here(s: Snapshot, m: Matrix, cuda: str) -> str:
    """Of the image and of these GPUs, whichever is the newer."""
    rows = [m.compute_capability(known(g.compute_capability) or "") for g in known(s.gpus) or ()]
    of_gpus = [str(row.first_driver) for row in rows if row and row.first_driver]
    return max([lowest_driver(m, cuda) if cuda else "", *of_gpus], key=numbers)


def _requirement(s: Snapshot, m: Matrix) -> Required | None:
    """Both evaluators' answers to what the image requires; None if it requires nothing."""
    cuda = known(s.driver.nvml_cuda_version)
    if cuda is None and (version := known(s.driver.version)):
        row = m.driver_branch(version).row
        cuda = row.cuda if row else None
    answer = required(s, cuda)
    return None if isinstance(answer, Missing) else answer


def _label(answer: Required | None, by_driver: str, what: str, lowest: str) -> tuple[Label, str]:
    """What the image asks of the driver against what the driver's grade says of what is inside, on this host."""
    if answer is None:
        return "none", ""
    if answer.hook.satisfied is None or by_driver == "unknown":
        return "unknown", ""
    runs = by_driver in ("native", "minor-version")
    if answer.hook.satisfied is False and runs:
        term = answer.hook.term or answer.hook.error or answer.hook.variable
        needs = (
            f"its software ({what}) needs only driver {lowest}"
            if lowest
            else f"its software ({what}) would run with this driver"
        )
        return "stricter", f"{answer.hook.variable} requires {term}; {needs}"
    if answer.hook.satisfied and not runs:
        return "looser", f"the image's own requirement ({answer.requested[0][0]}) still allows it to start"
    return "agrees", ""
