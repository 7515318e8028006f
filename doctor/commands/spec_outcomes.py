"""What of a spec can be judged before anything runs: in a Dockerfile, and in an image with the hosts it may run on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..findings import Policy
from ..findings.spec import SpecLine, files_of, unmet
from ..findings.spec_facts import have
from ..fixes.machine import wheel_platform
from ..fixes.spec import OF_TORCH
from ..images.evidence import evidence
from ..images.importer import snapshot_of
from ..images.recipes import Recipe
from ..judge import load, run_check
from ..judge.preflight_answer import SpecAnswer, SpecRow
from ..report.outcome import Level, Outcome
from ..snapshot import Distribution, Snapshot, known
from .spec_fixes import image_fix

if TYPE_CHECKING:
    from compat_matrix import Matrix

RULE = "spec-not-met"
OF_HOST = ("driver", "gpu")
"""Keys that no image decides."""
Row = dict[str, str]


def of_image(spec: tuple[SpecLine, ...]) -> tuple[SpecLine, ...]:
    """The lines that an image can meet."""
    return tuple(line for line in spec if line.key not in OF_HOST)


def of_host(spec: tuple[SpecLine, ...]) -> tuple[SpecLine, ...]:
    """The lines that only the host decides, which starts the image."""
    return tuple(line for line in spec if line.key in OF_HOST)


def judged(s: Snapshot, m: Matrix, spec: tuple[SpecLine, ...]) -> tuple[list[Row], list[Row]]:
    """(deviations, what is unknown) by `spec-not-met`; each has name, allowed, found and file, a deviation its fix and
    the Dockerfile's line too."""
    if not spec:
        return [], []
    result = run_check(load(RULE), s, m, Policy(spec=spec))
    facts: dict[str, Any] = result.findings[0].facts if result.findings else {}
    off = []
    for row in facts.get("deviations", ()):
        fix, command = image_fix(s, m, spec, _line(spec, row))
        off.append({**row, "fix": fix, "command": command})
    return off, list(facts.get("unknown", ()))


def _line(spec: Sequence[SpecLine], row: Row) -> SpecLine:
    """The line that a row is about."""
    return next(one for one in spec if (one.name, one.allowed, one.file) == (row["name"], row["allowed"], row["file"]))


def spec_answer(
    spec: tuple[SpecLine, ...], image: Snapshot, hosts: Sequence[tuple[str, Snapshot]], m: Matrix
) -> SpecAnswer:
    """What the image decides once, and what each host decides."""
    off, unknown = list[SpecRow](), list[SpecRow]()
    parts = [("image", image, of_image(spec)), *((name, host, of_host(spec)) for name, host in hosts)]
    for where, s, lines in parts:
        for rows, into in zip(judged(s, m, lines), (off, unknown), strict=True):
            into += [SpecRow(where=where, **{key: row[key] for key in row if key != "file"}) for row in rows]
    return SpecAnswer(
        files=tuple(files_of(spec)),
        lines=len(spec),
        verdict="fail" if off else "unknown" if unknown else "pass",
        deviations=tuple(off),
        unknown=tuple(unknown),
        left=() if hosts else tuple(dict.fromkeys(line.name for line in of_host(spec))),
    )


def with_spec_code(code: int, spec: SpecAnswer | None) -> int:
    """The exit code of `image` with what the spec adds: 1 for a deviation, 3 where something is unknown."""
    codes = {code, {"fail": 1, "unknown": 3}.get(spec.verdict, 0) if spec else 0}
    return 1 if 1 in codes else max(codes)


def spec_outcomes(recipe: Recipe, m: Matrix, spec: tuple[SpecLine, ...]) -> Iterator[Outcome]:
    """One for each deviation, one that names what is unknown, and one for what a Dockerfile cannot decide."""
    if not spec:
        return
    if recipe.kind != "dockerfile":
        yield _outcome("info", "The spec was not judged", f"{recipe.kind} files state no versions.", recipe)
        return
    judge, host = of_image(spec), of_host(spec)
    lines = {one.name: one.line for one in recipe.pinned}
    unknown = [{"name": line.name, "allowed": line.allowed, "file": line.file} for line in judge]
    s = _as_built(recipe, m) if recipe.images else None
    if s is not None:
        off, unknown = judged(s, m, judge)
        for row in off:
            title = unmet(row["name"], row["found"], row["allowed"])
            words = ": ".join(filter(None, (row["fix"].rstrip("."), row["command"])))
            fix = f"{words} (or change the spec, {row['file']})" if words else f"Change the spec ({row['file']})."
            yield _outcome("fail", title, "", recipe, _line_of(row["name"], lines, recipe), fix)
    if unknown:
        names = ", ".join(dict.fromkeys(row["name"] for row in unknown))
        words = _why_unknown([_line(judge, row) for row in unknown], s)
        yield _outcome("unknown", f"Unknown whether the image meets the spec: {names}", words, recipe)
    if host:
        names = ", ".join(dict.fromkeys(line.name for line in host))
        yield _outcome("info", f"Not judged in a Dockerfile: {names}", "The host decides.", recipe)


def _line_of(name: str, lines: dict[str, int], recipe: Recipe) -> int:
    """Where it is installed; what torch brings, where torch is; else where the base is named."""
    return lines.get("torch" if name in OF_TORCH else name, recipe.base_line)


def _outcome(level: Level, title: str, detail: str, recipe: Recipe, line: int = 1, fix: str = "") -> Outcome:
    return Outcome(RULE, level, title, detail, fix, recipe.name, line)


def _why_unknown(lines: Sequence[SpecLine], s: Snapshot | None) -> str:
    """What of these is known in part, what could be pinned, and what no line of a Dockerfile shows."""
    part = {line: found for line in lines if s and isinstance(found := have(s, line), str)}
    rest = [line for line in lines if line not in part]
    pins = list(dict.fromkeys(line.name for line in rest if line.key in ("torch", "package")))
    shown = list(dict.fromkeys(line.name for line in rest if line.name not in pins))
    words = [
        f"{line.name} is known only as {found} (the spec requires {line.allowed})." for line, found in part.items()
    ]
    words += [f"The Dockerfile pins no version of {', '.join(pins)} (NAME==VERSION)."] if pins else []
    words += [f"{'It' if pins else 'The Dockerfile'} does not show {', '.join(shown)}."] if shown else []
    words += ["The built image may show more: gpudoctor image IMAGE --layers --spec FILE."] if rest else []
    return " ".join(words)


def _as_built(recipe: Recipe, m: Matrix) -> Snapshot:
    """The image that it would build, with what its lines fix."""
    s = snapshot_of(recipe.images[0], evidence(recipe.images[0], m, to_be_built=True))
    installed = tuple(Distribution(name=one.name, version=one.version, location="") for one in recipe.pinned)
    changes: dict[str, Any] = {"python.distributions": installed, "python.distributions_partial": True}
    if recipe.system[0]:
        changes |= {"host.os_id": recipe.system[0], "host.os_version": recipe.system[1]}
    if recipe.cuda and known(s.torch.version) is None:
        changes["torch.cuda"] = recipe.cuda
    release = m.torch_release(known(s.torch.version) or "")
    tag = release.tag or known(s.torch.wheel_tag) or ""
    if release.release and release.status == "known":
        listed = release.release.cudnn_per_build.get(tag)
        build = m.torch_build(release.release.torch, tag, wheel_platform(s))
        if build and build.pypi_default and release.release.nccl:
            changes["torch.nccl_bundled"] = release.release.nccl
        own = release.release.cudnn if build and build.pypi_default else ""
        if listed and own in ("", listed):  # where PyPI's wheel has another one, either may be installed
            changes["torch.cudnn_bundled"] = listed
    return s.replace(changes)
