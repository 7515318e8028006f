"""Why a check is unknown or was skipped, as text."""

from __future__ import annotations

import re

from .patterns import lazy

REASON = lazy(r"([a-z_]+(?:\.[\w./-]+)*): (absent|denied|timeout|error|not-asked|conflict|recheck)(?:: (.*))?", re.S)
WHY = {
    "absent": "missing", "denied": "no permission", "timeout": "no response in time", "error": "error",
    "not-asked": "not examined", "conflict": "the sources disagree", "recheck": "only a new check can show it",
}  # fmt: skip


def reason_words(reason: str) -> str:
    """`gpus: denied: EACCES` as `the list of GPUs (no permission: EACCES)`; other reasons as they are."""
    found = REASON.fullmatch(reason)
    if not found:
        return reason.rstrip(".")
    from .fact_words import WORDS

    path, kind, detail = found.groups()
    name = WORDS.get(path) or path
    if by_root(reason):
        return f"{name.removeprefix('the ')}: {detail}"
    return f"{name} ({WHY[kind]}{f': {detail}' if detail else ''})"


def by_root(reason: str) -> bool:
    """Whether the reason says that only root can read the fact: then it says everything, with what to type."""
    found = REASON.fullmatch(reason)
    return bool(found and found[2] == "denied" and (found[3] or "").startswith("only root"))


def needed(words: str) -> str:
    """The words after '1 check needs': `the list of GPUs`, `to know whether CUDA starts`."""
    return f"to know {words}" if words.split(" ")[0] in ("whether", "where", "which", "how", "why", "what") else words
