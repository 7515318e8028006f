"""The page of the rules of Dockerfiles, compose files and manifests."""

from __future__ import annotations

from doctor.images.recipes import rules

from .links import to_file
from .words import cell, mark

INTRODUCTION = """\
`gpudoctor dockerfile FILE...` finds these in Dockerfiles, compose files and Kubernetes manifests, with the line, before
anything is built; nothing is pulled. Dockerfiles are read by BuildKit's own parser where `gpudoctor[dockerfile]` is
installed, else by dockerfile-parse, and a file with heredocs is then refused (exit 3). Stages, `ARG` and `--build-arg`
are followed, and requirement files that lie in the build context. The stage that is built is judged: the last, or
`--target`. What only the base image could say is not guessed: `gpudoctor image` looks into it. `fail` exits 1; `warn`
does with `--fail-on warn`; `info` is a remark. With `--driver` and `--gpu` the rule `image-on-host` says whether the
image would run there.

In a pre-commit configuration: `repo:` this repository, `id: gpudoctor-dockerfile`. It reads Dockerfiles and all YAML
files; `--skip-others` skips those that are neither compose files nor manifests, and templates."""


def pages() -> dict[str, str]:
    """Path to text."""
    rows = [
        f"| `{rule.id}` | {rule.status} | {cell(rule.title)} | {cell(rule.fix)} | "
        + (to_file(rule.check, ()) if rule.check else "")
        + f" | {cell(rule.source)} |"
        for rule in rules().values()
    ]
    head = ("| rule | | what it finds | what to do | more | source |", "| --- | --- | --- | --- | --- | --- |")
    parts = [mark("doctor/images/recipes/rules.json"), "# Dockerfiles, compose files, manifests", INTRODUCTION]
    return {"rules.md": "\n\n".join([*parts, "\n".join([*head, *rows])]) + "\n"}
