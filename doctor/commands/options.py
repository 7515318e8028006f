"""From flags to a Policy."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ..findings import Expect, Policy
from ..guard import Refusal
from ..snapshot import Snapshot
from .suggest import did_you_mean

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"


def make_policy(
    *,
    expect: str | None = None,
    require: Sequence[str] = (),
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    fail_on: str | None = None,
    building: bool = False,
    left_out: Sequence[str] = (),
    saved: Policy | None = None,
) -> Policy:
    """The Policy from these flags; what was not given comes from `saved`, the policy of a saved report.

    Raises Refusal with one line on an unknown check id, package name or expectation.
    """
    changes: dict[str, Any] = {"judged_on": time.strftime("%Y-%m-%d", time.gmtime())}
    if expect is not None:
        try:
            changes["expect"] = Expect.parse(expect)
        except ValueError as error:
            raise Refusal(str(error)) from None
    if require:
        changes["require"] = tuple(dict.fromkeys(_package(name) for name in require))
    for flag, ids in (("only", only), ("skip", skip)):
        if ids:
            changes[flag] = tuple(dict.fromkeys(_check_id(flag, name) for name in ids))
    if fail_on:
        changes["fail_on"] = fail_on
    if building:
        changes["building"] = True
    base = saved or Policy()
    if base.found and (own := {name: changes[name] for name in ("only", "skip") if name in changes}):
        changes["found"] = replace(base.found, **own)  # flags apply in full
    if left_out:
        changes["left_out"] = tuple(dict.fromkeys((*base.left_out, *left_out)))
    return replace(base, **changes)


def of_its_day(policy: Policy, snapshot: Snapshot) -> Policy:
    """The policy for a recording: it is judged as of the day it was taken, so that the result never changes."""
    day = snapshot.target.gathered_at[:10]
    past = re.fullmatch(r"\d{4}-\d\d-\d\d", day) is not None and day < policy.judged_on
    return replace(policy, judged_on=day) if past else policy


def _package(name: str) -> str:
    if not re.fullmatch(_NAME, name.strip()):
        raise Refusal(f"--require {name!r} is not a valid package name")
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _check_id(flag: str, name: str) -> str:
    word = name.strip().replace("_", "-")
    from .assess import known_ids

    ids = known_ids()
    if word not in ids:
        raise Refusal(f"--{flag} {name!r}: no such check{did_you_mean(word, ids)} (see gpudoctor list-checks)")
    return word
