"""What `explain` does: decide what an argument means, and turn a text into a report."""

from __future__ import annotations

import os
from typing import Any

from msgspec.structs import replace

from ..formats.given import near_names
from ..guard import Refusal
from .read import read_bounded
from .write import write

_TRIED_WORDS = 200


def run_explain(what: str, flags: dict[str, Any]) -> int:
    """Print a page, or judge a text; returns the exit code."""
    from .matrix_explain import answer_question
    from .pages import page, suggestions

    if what != "-" and not os.path.lexists(what):
        if (found := page(what)) is not None:
            write(found.encode("utf-8", "backslashreplace"), flags.get("output"))
            return 0
        if (answer := answer_question(what)) is not None:
            write(answer[1].encode("utf-8", "backslashreplace"), flags.get("output"))
            return answer[0]
        word = what.strip()
        if not word:
            raise Refusal("explain: the text is empty; give a check's id, a file, '-' or the text to explain")
        if len(word.split()) == 1 and len(word) < _TRIED_WORDS:
            near = near_names(word) or f"{suggestions(word)} (see gpudoctor list-checks)"
            raise Refusal(f"no such check, error or file: {word!r}{near}")
        return explain_text(what.encode("utf-8", "surrogateescape"), "argument", flags)
    return explain_text(read_input(what), "standard input" if what == "-" else what, flags)


def read_input(path: str) -> bytes:
    """The bytes of a file or of standard input, unpacked, up to the limit. Raises Refusal with one line."""
    from ..text.clean import MAX_BYTES

    too_large = f"is over {MAX_BYTES // 1_000_000} MB: cut it to the part that shows the error"
    data = read_bounded(path, MAX_BYTES, too_large)
    return _unpacked(data, path, MAX_BYTES, too_large) if data[:2] == b"\x1f\x8b" else data


def _unpacked(data: bytes, path: str, limit: int, too_large: str) -> bytes:
    """The text of a gzip file (nvidia-bug-report.log.gz); of one that is cut off, what is there."""
    import zlib

    try:
        text = zlib.decompressobj(wbits=31).decompress(data, limit + 1)
    except zlib.error:
        raise Refusal(f"{path} is a damaged gzip file") from None
    if len(text) > limit:
        raise Refusal(f"{path}: unpacked, it {too_large}")
    return text


def explain_text(data: bytes, name: str, flags: dict[str, Any]) -> int:
    """Judge a text as `check` judges a machine; a gpudoctor report in JSON is judged as by `check --from`."""
    from ..text import excerpt, judgeable, read
    from .config import base_policy
    from .options import make_policy
    from .run_check import one_format, policy_flags, print_report

    flags = _config(flags)
    one_format(flags)
    saved = _report(data)
    if saved is not None:
        policy = make_policy(saved=base_policy(flags, saved.policy), **policy_flags(flags))
        return print_report(saved.snapshot, policy, flags, saved.redacted)
    masks = None
    part = excerpt(data)
    if not flags["no_redact"]:  # before anything rewrites a line: what hides a secret's name hides the secret from us
        from ..snapshot.redact import Redactor
        from .local_names import local_names

        masks = Redactor(local_names())
        part = part.masked(masks.pasted(part.text))
    snapshot = read(part, name)
    snapshot = snapshot.replace({"target": replace(snapshot.target, name=os.path.basename(name))})  # noqa: PTH119
    if not judgeable(snapshot) and flags["format_"] == "text" and not flags["brief"]:
        from ..text.unread import no_text

        if line := no_text(data):
            write(line.encode(), flags["output"])
            return 3
    policy = make_policy(saved=base_policy(flags), **policy_flags(flags))
    return print_report(snapshot, policy, flags, masks=masks)


def _config(flags: dict[str, Any]) -> dict[str, Any]:
    """The text comes from elsewhere: this project's own configuration is used only if it is named."""
    return {**flags, "no_config": not flags.get("config")}


def _report(data: bytes) -> Any:
    """The saved report that the bytes are, or None."""
    if data[:200].lstrip()[:1] != b"{" or b'"schema_version"' not in data[:4096]:
        return None
    from ..judge.saved import parse_report

    return parse_report(data, "this text")
