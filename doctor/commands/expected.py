"""Whether the expected GPU model exists: a misspelled one must not fail a healthy machine."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from ..findings import Expect, Policy
from ..findings.spec import gpus
from ..guard import Refusal
from ..snapshot import Snapshot
from ..snapshot.presence import reported_names

if TYPE_CHECKING:
    from compat_matrix import Matrix


_NEWER = "a newer matrix may list it (--matrix)"


def refuse_unlisted(expect: Expect, m: Matrix, here: list[str], advice: str = _NEWER) -> None:
    """Raises Refusal if neither a GPU in the matrix nor one of those `here` has the expected model's name. advice: what
    to do where the name is that of a newer GPU."""
    model = expect.model
    if not model or m.lists_model(model) or any(m.is_model(name, model) for name in here):
        return
    count = f"{expect.count}x" if expect.count else ""
    words = () if count else get_close_matches(model.lower(), ("gpu", "any", "none"))
    near = [*words, *(f"{count}{name}" for name in m.nearest_models(model))]
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    found = f" or on this machine ({', '.join(here)})" if here else ""
    newer = "" if near else f"; {advice}"
    raise Refusal(f"{expect} is expected, but no GPU named {model} is in the matrix{found}{hint}{newer}")


def refuse_misspelt(policy: Policy, snapshot: Snapshot, m: Matrix) -> None:
    """The same for a machine. If its driver hangs, crashes or names no GPU, that check is UNKNOWN instead."""
    expected = _expected(policy)
    if any(one.model for one in expected) and not snapshot.driver.faults and (here := reported_names(snapshot)):
        for one in expected:
            refuse_unlisted(one, m, here)


def refuse_early(policy: Policy, m: Matrix) -> None:
    """The same before something long is started: the machine is examined only for a model that the matrix lacks."""
    if policy.expect.model and not m.lists_model(policy.expect.model):
        refuse_misspelt(policy, look(), m)


def refuse_elsewhere(policy: Policy, m: Matrix, advice: str = _NEWER) -> None:
    """The same for other machines, before they are examined: this one is examined only for a model that the matrix
    lacks."""
    unlisted = [one for one in _expected(policy) if one.model and not m.lists_model(one.model)]
    here = reported_names(look()) if unlisted else []
    for one in unlisted:
        refuse_unlisted(one, m, here, advice)


def _expected(policy: Policy) -> list[Expect]:
    return [policy.expect, *(gpus(line.allowed) for line in policy.spec if line.key == "gpu")]


def look(python: str | None = None) -> Snapshot:
    """This machine as its driver reports it, without importing torch. python: the environment, as for --python."""
    from .sources import gather

    blank = {"python_": python, "root": None, "replay": None, "target": None, "timeout": None, "no_import": True}
    return gather(blank)
