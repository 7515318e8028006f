"""What `dockerfile` does once its flags are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..findings import Policy
from ..guard import Refusal
from ..images.recipes import Recipe, read_recipe, rules
from ..images.recipes.instructions import Unparsed
from ..report.outcome import Level, Outcome, Ruled
from ..resolve.machine import Unclear
from .assess import matrix_of
from .config import with_spec
from .outcomes import FORMATS, render_outcomes
from .spec_outcomes import spec_outcomes
from .write import answer, echo

if TYPE_CHECKING:
    from compat_matrix import Matrix

    from ..snapshot import Snapshot

_ORDER = ("pass", "warn", "unknown", "fail")


def run_dockerfile(flags: dict[str, Any]) -> int:
    """Read, judge, print; returns the exit code."""
    m = matrix_of(flags)
    if flags["gpus"] and not flags["drivers"]:
        raise Refusal("--gpu requires the host's driver: --driver 535.183 --gpu 'RTX A5000'")
    spec = with_spec(Policy(), flags["spec"]).spec
    arguments = dict(_argument(text) for text in flags["arguments"])
    found: list[Outcome] = []
    judged = []
    try:
        for path in flags["paths"]:
            try:
                recipe = read_recipe(Path(path), m, arguments, flags["target"])
            except Unparsed as error:
                if error.other and flags["skip_others"]:
                    continue
                raise
            judged.append(path)
            found += [*_outcomes(recipe), *_on_hosts(recipe, m, flags), *spec_outcomes(recipe, m, spec)]
    except (Unparsed, Unclear) as error:
        if not error.unknown:
            raise Refusal(str(error)) from None

        echo(f"gpudoctor: {error}", err=True)
        return 3
    answer(_rendered(found, {**flags, "paths": judged}), flags)
    levels = {one.level for one in found}
    if "fail" in levels or (flags["fail_on"] == "warn" and "warn" in levels):
        return 1
    return 3 if "unknown" in levels else 0


def _argument(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Refusal(f"--build-arg {text!r}: expected NAME=VALUE")
    return name, value


def _outcomes(recipe: Recipe) -> list[Outcome]:
    table = rules()
    found = [
        Outcome(
            f.rule, table[f.rule].status, table[f.rule].title, f.detail, f.fix or table[f.rule].fix, recipe.name, f.line
        )
        for f in recipe.faults
    ]
    if recipe.unresolved:
        names = ", ".join(recipe.unresolved)
        wrong = next(iter(recipe.undeclared), "")
        first = f"give --build-arg {recipe.unresolved[0]}=..."
        first = f"add ARG {wrong} before the first FROM; otherwise --build-arg has no effect on it" if wrong else first
        words = f"FROM {recipe.base}: {first}; the rest was judged without it"
        found.append(Outcome("base-not-known", "unknown", f"Nothing sets {names}", words, "", recipe.name, 0))
    return found


def _on_hosts(recipe: Recipe, m: Matrix, flags: dict[str, Any]) -> list[Outcome]:
    """Whether the image that the Dockerfile builds would run on the described hosts."""
    if not flags["drivers"] or recipe.kind != "dockerfile" or not recipe.images:
        return []
    from ..images.evidence import evidence
    from ..images.hosts import described
    from ..images.importer import snapshot_of
    from ..judge.preflight import preflight
    from .options import make_policy
    from .run_image import LEFT_OUT

    read = [evidence(image, m, to_be_built=True) for image in recipe.images]
    made = [snapshot_of(image, one) for image, one in zip(recipe.images, read, strict=True)]
    plain = not any(one.torch.source or "CUDA_VERSION" in one.env for one in read)
    policy = make_policy(saved=Policy(left_out=LEFT_OUT))
    arch = "aarch64" if recipe.images[0].config["architecture"] == "arm64" else "x86_64"
    found = []
    for gpu in flags["gpus"] or ("",):
        for version in flags["drivers"]:
            name, host = described(m, version, gpu, arch)
            if lacking := _extension_lacks(recipe, host, m, name):
                found.append(lacking)
            answers = [preflight(s, host, name, m, policy)[0] for s in made]
            answer = min(answers, key=lambda one: _ORDER.index(one.verdict))
            if answer.verdict == "pass" and all(one.verdict == "pass" for one in answers):
                continue
            level: Level = answer.verdict if answer.verdict in ("fail", "warn") else "unknown"
            first = next((one for one in answer.findings if one.status == level), None)
            detail = f"{first.title}. {first.detail}" if first else answer.why
            fix = first.fixes[0].title if first and first.fixes else ""
            if level == "fail" and plain and first and first.id == "container-driver-capabilities-missing":
                level, fix = "unknown", ""  # a program that only asks NVML has no use for libcuda
                detail = f"Nothing in the image shows that it uses CUDA. {first.detail}"
            elif level != "fail" and any(one.verdict == "fail" for one in answers):
                level, fix = "unknown", ""
                several = f"is missing from this matrix ({m.version}) or has changed over time"
                detail = f"It is unknown whether {recipe.base} starts on this host: its driver list {several}."
            if level == "fail" and recipe.choice and recipe.choice.split()[3] in detail:
                detail = f"{detail} {recipe.choice}."
            words = {"fail": "It would not run", "warn": "It would run with a warning"}.get(level, "It may not run")
            found.append(Outcome("image-on-host", level, f"{words} on {name}", detail, fix, recipe.name, 1))
    return found


def _extension_lacks(recipe: Recipe, host: Snapshot, m: Matrix, name: str) -> Outcome | None:
    """The first extension compiled without code for a GPU of the host."""
    from ..snapshot import known

    levels = sorted({cc for gpu in known(host.gpus) or () if (cc := known(gpu.compute_capability))})
    for one in recipe.extensions:
        for level in levels:
            if m.code_for_gpu(level, one.sass, one.ptx, None, one.cuda or None).kind == "none":
                lists = ", ".join(f"sm_{cc.replace('.', '')}" for cc in one.sass)
                without = f" and PTX for {', '.join(one.ptx)}" if one.ptx else ", without PTX"
                own = f"sm_{level.replace('.', '')}"
                detail = f"{one.package} is compiled for {lists}{without} ({one.variable}); the GPU needs {own}."
                able = {t.rstrip("af") for row in m.toolkits if row.cuda.startswith(one.cuda) for t in row.sm_targets}
                fix = f"Add {level} to {one.variable}."
                if one.cuda and able and level not in able:
                    start = f"Start from a devel image with a CUDA version that can compile for {own}"
                    fix = f"{start}, and add {level} to {one.variable}."
                title = f"It would not run on {name}"
                return Outcome("image-on-host", "fail", title, detail, fix, recipe.name, one.line)
    return None


def _rendered(found: Sequence[Outcome], flags: dict[str, Any]) -> str:
    format_ = flags["format_"]
    if format_ in FORMATS:
        return render_outcomes(found, _ruled(found), format_, " ".join(flags["paths"])).decode()
    if format_ == "json":
        import json

        rows = [one._asdict() for one in found]
        return json.dumps({"version": 1, "files": list(flags["paths"]), "findings": rows}, indent=2) + "\n"
    from ..report.recipe_text import recipe_lines
    from .display import display

    how = display(flags)
    wide = min(100, how.width) if flags["output"] in (None, "-") else 100
    return how.written(recipe_lines(found, flags["paths"], wide, how.quiet))


def _ruled(found: Sequence[Outcome]) -> dict[str, Ruled]:
    table = rules()
    ruled = {rule.id: Ruled(rule.title, rule.fix, rule.source) for rule in table.values()}
    return {**{one.rule: Ruled(one.title, one.detail) for one in found}, **ruled}
