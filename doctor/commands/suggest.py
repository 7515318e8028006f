"""Names close to a misspelled one."""

from __future__ import annotations

from collections.abc import Sequence


def did_you_mean(word: str, names: Sequence[str]) -> str:
    """`; did you mean a, b?` or an empty string."""
    from difflib import get_close_matches

    names = list(dict.fromkeys(names))
    close = get_close_matches(word.lower().replace("_", "-"), names, n=3, cutoff=0.5)
    close += [name for name in names if word and word.lower() in name and name not in close][: 3 - len(close)]
    return f"; did you mean {', '.join(close)}?" if close else ""
