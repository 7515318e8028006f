"""What `print` does: a file with what the user expects filled in."""

from __future__ import annotations

import re
from importlib.resources import files

from ..extra import elsewhere
from ..guard import Refusal
from .assess import matrix_of
from .expected import refuse_elsewhere
from .options import make_policy
from .write import write

_IMAGE = re.compile(r"[A-Za-z0-9][\w.\-/:@]{0,254}")
_EXPECT = re.compile(r"[\w.,+ -]{1,80}")


def run_print(
    what: str,
    expect: str | None,
    image: str | None,
    matrix: str | None = None,
    output: str | None = None,
    from_: str | None = None,
    python: str | None = None,
) -> int:
    """Print the file. Raises Refusal for a flag that the file does not use, for an expectation or image name that would
    break it, and for a GPU that is neither listed in the matrix nor reported by the driver here."""
    if what == "spec":
        given = "--expect" if expect is not None else "--image" if image is not None else ""
        if given:
            raise Refusal(f"{given} cannot be used with spec")
        from .run_print_spec import run_print_spec

        if from_ and python:
            raise Refusal("--python cannot be used with --from")
        return run_print_spec(from_, python, matrix, output)
    for flag, value in (("--from", from_), ("--python", python)):
        if value is not None:
            raise Refusal(f"{flag} cannot be used with {what}")
    text = files(__package__).joinpath("printed").joinpath(f"{what}.txt").read_text("utf-8")
    for flag, value, marks in (("expect", expect, ("@EXPECT@", "@COUNT@")), ("image", image, ("@IMAGE@",))):
        if value is not None and not any(mark in text for mark in marks):
            raise Refusal(f"--{flag} cannot be used with {what}")
    expect = "gpu" if expect is None else expect
    image = "your-registry.example/gpudoctor:latest" if image is None else image
    policy = make_policy(expect=expect)
    if not _EXPECT.fullmatch(expect):
        raise Refusal(f"--expect {expect!r}: only letters, digits, spaces and . , + - _ are allowed")
    if not _IMAGE.fullmatch(image):
        raise Refusal(f"--image {image!r} is not a valid image name")
    m = matrix_of({"matrix": matrix})
    refuse_elsewhere(policy, m)
    count = policy.expect.count or 1
    for mark, value in (("@EXPECT@", expect), ("@IMAGE@", image), ("@COUNT@", f"{count}"), ("@INSTALL@", elsewhere())):
        text = text.replace(mark, value)
    write(text.encode(), output)
    return 0
