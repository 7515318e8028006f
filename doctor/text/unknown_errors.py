"""Lines of a text that report an unrecognized error: they are shown, never ignored."""

from __future__ import annotations

from collections.abc import Iterable

from ..formats.lazy import lazy
from ..snapshot import Symptom
from .statement import Line

_MOST = 3
_WORDS = ("error", "exception", "fatal", "panic", "segmentation fault", "core dumped", "undefined symbol", "traceback",
          "cannot open shared object", "command not found", "failed")  # fmt: skip
_ERROR = lazy(
    r"^(?:\[\w{1,12}\]:? ?)?(?:[\w.]{1,80}\.)?[A-Z]\w{1,60}(?:Error|Exception)(?::|$)"
    r"|^(?:\S{1,40} ){0,4}(?:\[|\|)? ?(?:ERROR|FATAL|CRITICAL)\b ?[\]:|]"
    r"|^(?:\S{1,200}: )?(?:fatal )?error(?: \w{1,8}\d{1,5})?: \S"
    r"|^(?:docker: )?Error response from daemon: "
    r"|^fatal: |\bpanic: |^Segmentation fault|\(core dumped\)|: undefined symbol: |: cannot open shared object file"
    r"|\bCUDA error\b ?:|: command not found$"
)
"""What a program prints when it fails, at the place where it prints it; people's sentences do not begin so."""
_COUNT = lazy(r"\d+")


def reports_error(text: str) -> bool:
    """Whether a program prints such a line when it fails."""
    lower = text.lower()
    return any(word in lower for word in _WORDS) and bool(_ERROR.search(text.strip()[:300]))


def unknown_errors(lines: Iterable[Line], understood: Iterable[tuple[int, str]]) -> tuple[Symptom, ...]:
    """The first lines that report an error, without those that a message or a fact was read from, and their repeats.

    `understood`: (number, text) of the lines that were.
    """
    numbers, seen = set(), set()
    for number, text in understood:
        numbers.add(number)
        seen.add(_COUNT.sub("0", text.strip())[:200])
    found: dict[str, Symptom] = {}
    for line in lines:
        text = line.text.strip()[:300]
        if line.number in numbers or not reports_error(text):
            continue
        key = _COUNT.sub("0", text)[:200]
        if key not in seen:
            seen.add(key)
            means = "an unrecognized error"
            found[key] = Symptom(id="unknown-error", line=line.number, text=text, means=means, unknown=True)
            if len(found) == _MOST:
                break
    return tuple(found.values())
