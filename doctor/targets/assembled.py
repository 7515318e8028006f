"""An agent as one text, put together from its parts: what is sent where this package is not."""

from __future__ import annotations

import ast
import os

_PATIENT = f"{os.path.dirname(os.path.dirname(__file__))}/patient"  # noqa: PTH120
_PACKAGE = "gpudoctor_agents"
_HEAD = f"""\
import sys
sys.path[:] = [path for path in sys.path if path not in ("", ".")]
P = type(sys)({_PACKAGE!r})
P.__path__, P.text = [], TEXT
sys.modules[P.__name__] = P
def part(name, text):
    module = type(sys)(P.__name__ + "." + name)
    module.__package__, module.__file__ = P.__name__, "/" + P.__name__ + "/" + name + ".py"
    sys.modules[module.__name__] = module
    exec(compile(text, module.__file__, "exec"), module.__dict__)
__package__ = P.__name__
"""


def assembled(name: str, sent: str = "") -> str:
    """The source of an agent of doctor/patient with all its parts, for `python -I -S - ARGUMENTS` (Python 3.8), or
    `python - ARGUMENTS` where it needs packages.

    Each part is a module of its own there, as it is here. The whole is there as a text, too, for an agent that starts
    itself once more, and so is `sent`, which the agent may read. Raises OSError if there is no such agent.
    """
    texts: dict[str, str] = {}
    _collect(name, texts)
    own = texts.pop(name)
    parts = "".join(f"part({part!r}, {text!r})\n" for part, text in texts.items())
    head = f"{_HEAD}P.sent = {sent!r}\n"
    whole = f"{head}{parts}__file__ = {f'/{_PACKAGE}/{name}.py'!r}\nexec(compile({own!r}, __file__, 'exec'))\n"
    return f"TEXT = {whole!r}\nexec(TEXT)\n"


def _collect(name: str, texts: dict[str, str]) -> None:
    """A file's text, behind those of the parts that it imports."""
    with open(f"{_PATIENT}/{name}.py", encoding="utf-8") as file:
        text = file.read()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module and node.module not in texts:
            _collect(node.module, texts)
    texts[name] = text
