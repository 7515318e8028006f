"""An image against hosts for a terminal: what it is, the table of hosts, and what is wrong where it does not run."""

from __future__ import annotations

from collections.abc import Sequence

from ..findings.spec import instead
from ..judge.preflight_answer import HostAnswer, ImageAbout, LayerAnswer, Preflight, SpecAnswer, SpecRow
from .amounts import stored
from .blocks import cause, families
from .clean import printable
from .lines import BLANK, Line, Span, Style, command, line, wrap
from .terminal import Display, packed

GRADES = {
    "native": "native", "minor-version": "minor-version compatibility", "forward-compat": "needs cuda-compat",
    "impossible": "impossible", "unknown": "unknown",
}  # fmt: skip
RUNS: dict[str, tuple[str, Style]] = {
    "pass": ("yes", "pass"), "warn": ("yes, but", "warn"), "fail": ("no", "fail"), "unknown": ("unknown", "unknown"),
}  # fmt: skip
_FORWARD = {
    "possible": "allowed on this GPU", "not-on-this-gpu": "not allowed on this GPU",
    "not-on-this-driver": "not for this driver branch", "unknown": "unknown whether it is allowed",
}  # fmt: skip


CHECKED_BY = (
    "docker --gpus, and --runtime=nvidia before toolkit 1.18; not with CDI, nor with --runtime=nvidia from 1.18 on"
)
"""Toolkit: modes legacy (libnvidia-container), csv (its own evaluator, on Jetson), cdi and jit-cdi (none). Sources:
NVIDIA/nvidia-container-toolkit, CHANGELOG v1.18.0-rc.1, internal/info/auto.go, internal/modifier/csv.go."""
_COUNTED = {
    "fail": "does not run on", "unknown": "unknown on", "warn": "runs, with a warning, on", "pass": "runs on",
}  # fmt: skip
_SOURCES = {"docker": " (in the Docker engine here)", "podman": " (in Podman here)"}
_IN_FULL = 2
"""Hosts up to which every finding is shown with its fixes; past that -v shows them."""


def render_image(answer: Preflight, display: Display = Display()) -> str:  # noqa: B008
    """The whole answer."""
    width = max(40, min(display.width, 110))
    if display.quiet:
        spec = wrap(spec_words(answer.spec, answer.image)[0], width) if answer.spec else []
        return display.written([*_ending(answer, width), *spec, *_first_step(answer, width)])
    rows = [*image_lines(answer, width), BLANK]
    if answer.hosts:
        rows += [*_table(answer.hosts, width, display.verbose), BLANK]
    short = len(answer.hosts) > _IN_FULL and not display.verbose
    for host in answer.hosts:
        found = _causes(host, width, display.verbose, short)
        if found and len(answer.hosts) > 1:
            rows += [*wrap(host.host, width, style="bold"), *([] if short else [BLANK])]
        rows += [*found, *([BLANK] if found and short else [])]
    rows += _start(answer, display.verbose, width)
    rows += _spec(answer, width)
    for note in answer.matrix.notes:
        rows += wrap(note, width, first=Span("i ", "dim"), style="dim")
    rows += _ending(answer, width)
    return display.written(rows)


def image_lines(answer: Preflight, width: int) -> list[Line]:
    """What the image is, and what it needs."""
    image = answer.image
    versions = [f"gpudoctor {answer.tool.version}", f"matrix {answer.matrix.version}"]
    rows = packed([printable(image.name) + _SOURCES.get(image.source, ""), *versions], width, "dim")
    rows += packed(summary(image), width, "bold")
    for label, text in details(image):
        rows += wrap(text, width, indent="  ", first=Span(f"{label}: ", "dim"), hang=4)
    return rows


def summary(image: ImageAbout) -> list[str]:
    """In a few words each: CUDA, torch, Python, platform, size."""
    torch = f"torch {image.torch}" if image.torch else "no torch version given"
    parts = [f"CUDA {image.cuda}" if image.cuda else "no CUDA_VERSION", torch]
    parts += [f"Python {image.python}"] if image.python else []
    parts += [image.platform] if image.platform else []
    if image.bytes is not None and image.layers:
        several = f"{image.layers} layers" if image.layers > 1 else "one layer"
        parts.append(f"{stored(image.bytes)} in {several}")
    return parts


def spec_words(one: SpecAnswer, image: ImageAbout) -> tuple[str, list[tuple[str, str, str]]]:
    """(whether the spec is met, rows: a line for each deviation, for what is unknown and for what was not judged, with
    what to do about it and the line of the Dockerfile that does it, '' for none)."""
    name = f"the spec {', '.join(one.files)}" if one.files else "the spec"
    verb = {"fail": "does not meet", "pass": "meets"}.get(one.verdict, "may not meet")
    several = any(row.where != "image" for row in (*one.deviations, *one.unknown))
    rows = [(f"{_of(row, several)}: {instead(row.found, row.allowed)}", row.fix, row.command) for row in one.deviations]
    rows += [(f"{_of(row, several)}: {instead(row.found, row.allowed, unknown=True)}", "", "") for row in one.unknown]
    if image.layers and image.layers_read is None and any(row.where == "image" for row in one.unknown):
        rows.append(("With --layers, the image's files may show what is unknown", "", ""))
    rows += [(f"{', '.join(one.left)}: not judged, depends on the host (--driver, --against)", "", "")] * bool(one.left)
    return f"It {verb} {name} ({one.lines} {'line' if one.lines == 1 else 'lines'})", rows


def _of(row: SpecRow, several: bool) -> str:
    return f"{row.name} ({row.where})" if several else row.name


def details(image: ImageAbout) -> list[tuple[str, str]]:
    """Label and text of what decides."""
    rows = []
    if image.torch_source:
        rows.append(("torch from", image.torch_source))
    for variable, expression in image.requires:
        first, *rest = expression.split() or [""]
        more = f", or one of {len(rest)} alternatives" if rest else ""
        rows.append((f"{variable} requires", f"{first}{more}"))
    if image.requires:
        rows.append(("checked by", CHECKED_BY))
    if image.requires_disabled:
        rows.append(("requirements", "switched off by NVIDIA_DISABLE_REQUIRE"))
    if image.lowest_driver:
        rows.append(("needs", f"driver {image.lowest_driver} or newer ({image.lowest_driver_for})"))
    for name in ("visible_devices", "driver_capabilities"):
        value = getattr(image, name)
        rows += [(f"NVIDIA_{name.upper()}", value or "(empty)")] if value is not None else []
    rows += [(name, value) for name, value in image.labels if name != "version"]
    if image.layers_read is not None:
        rows.append(("layers read", _layers(image.layers_read, image)))
    if image.driver_libraries:
        first, *rest = image.driver_libraries
        more = f" and {len(rest)} more" if rest else ""
        rows.append(("driver inside", f"{first}{more}: these should come from the host, not from the image"))
    rows += [("note", text) for text in image.notes]
    if image.entrypoint:
        rows.append(("starts", " ".join(image.entrypoint)))
    rows += [("user", image.user)] if image.user else []
    return rows


def _layers(read: tuple[LayerAnswer, ...], image: ImageAbout) -> str:
    """How far, and of how many the digest was checked."""
    size, checked = sum(one.read for one in read), sum(one.digest_checked for one in read)
    left = [one for one in read if not one.digest_checked]
    text = f"{len(read)} of {image.layers}, {stored(size)}"
    if checked:
        text += f", {checked} of them {'matches its digest' if checked == 1 else 'match their digests'}"
    for one in left[:1]:
        text += f"; {one.digest[:19]}: digest not checked" + (f", nor for {len(left) - 1} more" if left[1:] else "")
    return text


def how(host: HostAnswer) -> str:
    """The grade as text."""
    words = GRADES[host.grade]
    return f"{words}, {_FORWARD[host.forward_compat]}" if host.forward_compat in _FORWARD else words


def _table(hosts: tuple[HostAnswer, ...], width: int, verbose: int) -> list[Line]:
    names = min(max(len(printable(one.host)) for one in hosts), max(20, width - 42))
    rows: list[Line] = [line(Span(f"  {'Host':<{names}}  Runs      How", "bold"))]
    for one in hosts:
        word, style = RUNS[one.verdict]
        name = printable(one.host)
        if len(name) > names:
            rows += wrap(name, width, indent="  ")
            name = ""
        rows.append(line(f"  {name:<{names}}  ", Span(f"{word:<8}", style), f"  {how(one)}"))
        for text in filter(None, (one.why, one.label_words, _evaluators(one) if verbose else "")):
            shown = text if text.startswith("torch") else f"{text[0].upper()}{text[1:]}"
            rows += wrap(shown, width, indent="      ", style="dim")
    return rows


def _evaluators(host: HostAnswer) -> str:
    """What both tools that read NVIDIA_REQUIRE_* say of it; empty if the image asks for nothing."""
    if host.label == "none":
        return ""
    words = {True: "met", False: "not met", None: "unknown"}
    return (
        f"its requirement: {words[host.hook]} according to libnvidia-container, {words[host.toolkit]} according "
        f"to Jetson's csv mode"
    )


def _causes(host: HostAnswer, width: int, verbose: int, short: bool) -> list[Line]:
    """What is wrong there, with its fixes; `short`: a line for each, and its first fix."""
    rows: list[Line] = []
    for root, under in families(host.findings):
        if not short:
            rows += [*cause(root, under, width, verbose), BLANK]
            continue
        rows += wrap(f"{root.title} ({root.id})", width, indent="  ")
        for fix in root.fixes[:1]:
            rows += wrap(fix.title, width, indent="    ", first="Fix: ")
            for step in fix.steps:
                rows += command(step.command, "      ") if step.command else []
    return rows


def _spec(answer: Preflight, width: int) -> list[Line]:
    if answer.spec is None:
        return []
    title, found = spec_words(answer.spec, answer.image)
    rows = wrap(title, width, style=RUNS[answer.spec.verdict][1])
    for text, fix, line_ in found:
        rows += wrap(text, width, "  ", hang=4)
        rows += wrap(fix, width, indent="    ", first="Fix: ") if fix else []
        rows += command(line_, "      ") if line_ else []
    return [*rows, BLANK]


def spec_lines(found: Sequence[tuple[str, str, str]]) -> list[str]:
    """The rows of `spec_words`, each as one line."""
    return [
        ". ".join(filter(None, (text, f"Fix: {fix} {line_}".rstrip() if fix else ""))) for text, fix, line_ in found
    ]


def _first_step(answer: Preflight, width: int) -> list[Line]:
    """What is wrong on the first host that it does not run on, and the first step there; else how it is started."""
    found = [one for host in answer.hosts for one in host.findings if one.status == host.verdict and one.fixes]
    if not found:
        return _start(answer, 0, width)
    fix = found[0].fixes[0]
    rows = wrap(f"{found[0].title}. {fix.title}", width)
    return [*rows, *(row for step in fix.steps[:1] if step.command for row in command(step.command, "  "))]


def _start(answer: Preflight, verbose: int, width: int) -> list[Line]:
    """How it is started; -v for every engine, else docker's line."""
    starts = dict.fromkeys(one.start for one in answer.hosts if one.start)
    rows: list[Line] = []
    for start in starts:
        for engine, text in start if verbose else start[:1]:
            head = (
                "To skip the check of the image's requirement:"
                if "NVIDIA_DISABLE_REQUIRE" in text
                else f"Start it with {engine}:"
            )
            rows += [*wrap(head, width), *command(text, "  ")]
    return [*rows, BLANK] if rows else []


def _ending(answer: Preflight, width: int) -> list[Line]:
    if not answer.hosts:
        text = (
            "No host to judge against: specify one with --driver 535.183 --gpu 'RTX A5000', or --against report.json."
        )
        return wrap(text, width)
    counts = [(word, sum(one.verdict == verdict for one in answer.hosts)) for verdict, word in _COUNTED.items()]
    total = len(answer.hosts)
    if total == 1:
        verdict = answer.hosts[0].verdict
        words = f"{_COUNTED[verdict].capitalize()} this host (exit {answer.exit_code})"
        return wrap(words, width, style=RUNS[verdict][1])
    text = ", ".join(f"{word} {count} of {total}" for word, count in counts if count)
    return wrap(f"{text[0].upper()}{text[1:]} hosts (exit {answer.exit_code})", width, style="bold")
