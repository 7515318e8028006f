"""Flags that the next command needs in order to examine the same machine and ask the same questions."""

from __future__ import annotations

from shlex import quote

from ..findings import Expect, Policy
from ..findings.spec import files_of
from ..snapshot import Snapshot
from ..snapshot.masks import holds_mask
from ..snapshot.typed import named_python, quoted

AS_BEFORE = " ..."
"""Where a name among them is masked."""
_FAR = ("docker", "podman", "ssh", "kubectl")


def again_flags(policy: Policy, s: Snapshot, command: str = "check") -> str:
    """` --expect 8xH100 --require vllm --python /opt/env`: what was asked for, each after a blank; '' for nothing.

    command: check, fix, prove or watch; those that know no --require or --building do without.
    """
    words = [f"--root {quoted(s.target.name)}"] if s.target.kind == "root" and command == "check" else []
    words += [f"--target {quote(f'{s.target.kind}:{s.target.name}')}"] if s.target.kind in _FAR else []
    words += [f"--expect {quote(str(policy.expect))}"] if policy.expect != Expect() else []
    words += [f"--require {name}" for name in policy.require if command != "watch"]
    words += [f"--spec {quote(name)}" for name in _named_specs(policy) if command in ("check", "fix")]
    words += ["--building"] if policy.building and command in ("check", "fix") else []
    flags = "".join(f" {word}" for word in words) + named_python(s)
    return AS_BEFORE if holds_mask(flags) else flags


def _named_specs(policy: Policy) -> list[str]:
    """The files of `--spec`: a configuration is found again without a flag."""
    return [name for name in files_of(policy.spec) if name not in (policy.config, policy.found and policy.found.path)]
