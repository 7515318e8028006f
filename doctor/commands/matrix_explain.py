"""`gpudoctor explain "torchvision for torch 2.4.1"`: a question for the matrix, answered as by `matrix query`."""

from __future__ import annotations

import re

import click

_OPTIONS = {"os_": "linux", "arch": "x86_64", "gpus": (), "driver": None, "python": None, "torch": None,
            "forward_compat": False}  # fmt: skip
_PAIR = r"(?:(which|what) )?([\w.-]{2,30}) (?:for|goes with|go with|works with|fits) (\S.{1,80})"
_RELEASE = r"([\w-]{2,30})(?: |==)v?(\d[\w.]{0,20})"
_OF_DRIVER = r"driver \d[\d.]{2,15} (?:cuda|gpu) \S.{0,60}"
_WITH_A_LINE = ("driver", "gpu")
"""'Which torch for driver 535' is answered with the line to install: `doctor.text.question` does that."""


def answer_question(text: str) -> tuple[int, str] | None:
    """Exit code and answer; None if the text is not a question for the matrix. 3: the matrix does not list it."""
    from compat_matrix import Matrix

    from .matrix_answer import cited_shortly
    from .matrix_query import ask, unquoted

    words = _words(" ".join(unquoted(text)).rstrip("?! ."))
    if not words:
        return None
    try:
        m = Matrix.load()
        _, lines, keys = ask(m, words, _OPTIONS)
    except click.UsageError:
        return None
    except click.ClickException as unlisted:
        return 3, f"{unlisted.message}\n"
    return 0, "\n".join([*lines, *cited_shortly(m, keys)]) + "\n"


def _words(text: str) -> tuple[str, ...]:
    """The question in the form for `matrix query`; empty if the text has a different form."""
    pair = re.fullmatch(_PAIR, text, re.I)
    if pair:
        wanted, rest = pair[2].casefold(), pair[3].split()
        kind = rest[0].casefold()
        if " and " in text or "," in text or (pair[1] and wanted in ("torch", "cuda") and kind in _WITH_A_LINE):
            return ()
        return _known(wanted) and (wanted, "for", kind, *rest[1:])
    release = re.fullmatch(_RELEASE, text)
    if release and release[1].casefold() not in ("torch", "driver", "python", "gpu", "build"):
        return _known(release[1].casefold()) and (release[1].casefold(), release[2])
    return tuple(text.split()) if re.fullmatch(_OF_DRIVER, text) else ()


def _known(subject: str) -> tuple[str, ...]:
    from compat_matrix import Matrix

    from .matrix_for import things
    from .matrix_for_package import package_named

    m = Matrix.load()
    return (subject,) if subject in things(m) or package_named(m, subject) else ()
