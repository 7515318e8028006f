"""What sets the pace: the bound, what would change it, and the same work on other GPUs; as lines and as rows."""

from __future__ import annotations

from ..fit.cards import Board
from ..fit.pace import Pace
from ..fit.question import Answer, Compared, Question
from .lines import BLANK, Line, Span, line, wrap

PACE, OTHERS = "What sets the pace", "The same work on other GPUs"
OTHERS_HEAD = ("GPU", "power", "what fits", "GPU", "host", "pace")


def pace_lines(q: Question, found: Answer, width: int) -> list[Line]:
    """Nothing if the board's rates are not listed."""
    rows: list[Line] = []
    if paragraphs := pace_words(q, found):
        rows += [BLANK, line(Span(PACE, "bold"))]
        rows += [row for text in paragraphs for row in wrap(text, width, "  ")]
    if others := other_gpus(q, found):
        wide = max(len(one[0]) for one in others) + 2
        rows += [BLANK, line(Span(OTHERS, "bold"))]
        rows += [_row(wide, *one) for one in (("", "", *OTHERS_HEAD[2:]), *others)]
    return rows


def pace_words(q: Question, found: Answer) -> list[str]:
    """Empty if the board's rates are not listed."""
    return [] if found.pace is None else [*sentences(q, found.pace), *_network(found.pace)]


def other_gpus(q: Question, found: Answer) -> list[tuple[str, str, str, str, str, str]]:
    """The columns of OTHERS_HEAD for this board and those it is compared with."""
    if not found.compared:
        return []
    own = Compared(q.board, found.first.name if found.first else "", True, found.pace)
    rows = []
    for one in (own, *found.compared):
        way = one.way if one.sure or not one.way else f"perhaps {one.way}"
        rows.append(_other(one.board, way.replace("none", "as it is") or "nothing", one.pace))
    return rows


def sentences(q: Question, p: Pace) -> list[str]:
    """The bound with its figures, then what changes it."""
    step = "token" if q.work.task == "inference" else "step"
    b = q.board
    launches = f"and its {p.kernels[0]} to {p.kernels[1]} launches take the host {_ms(p.host_ms)}"
    both = f"each {step} takes the GPU {_ms(p.gpu_ms)}, {launches}"
    if p.bound == "host":
        more = (
            f" Running up to {p.copies} such jobs on one GPU costs little; more jobs than that slow each other down."
            if p.copies > 1
            else ""
        )
        return [
            f"The CPU core, which launches the kernels: {both}. A faster GPU would not help.",
            (
                f"What would help: a batch of about {p.busy_from} or more, CUDA graphs or torch.compile, or a faster "
                f"core.{more}"
            ),
        ]
    if p.bound == "link":
        return [
            f"The link: sending takes {_figure(p.link_ms)} ms; {both}.",
            "What would help: GPUs connected by NVLink, fewer GPUs, or more accumulation between exchanges.",
        ]
    if p.bound == "products":
        if p.products == "CUDA cores":
            times = f"{b.half_tflops / b.fp32_tflops:.0f} times as fast on paper here"
            return [
                f"Matrix multiplication on the CUDA cores: {both}.",
                f"TF32 or mixed precision moves it to the tensor cores, {times}; compare other GPUs by FP32 rate.",
            ]
        return [
            f"Matrix multiplication on the tensor cores: {both}. Compare other GPUs by their dense half-precision rate."
        ]
    if p.bound == "memory":
        return [
            f"The GPU's memory bandwidth ({b.memory_gb_s:.0f} GB/s): {both}. Compare other GPUs by their bandwidth; "
            + (
                "fewer bits per weight or more concurrent requests make better use of it."
                if step == "token"
                else "fusing kernels helps."
            )
        ]
    slow = (
        "CUDA graphs (vLLM, TensorRT-LLM) remove the host's launch time"
        if step == "token"
        else ("CUDA graphs or torch.compile remove the host's launch time")
    )
    return [
        (
            f"The CPU core or the GPU, depending on how fast this core is: {both}. {slow}; `gpudoctor prove` shows "
            "which one it is."
        )
    ]


def _network(p: Pace) -> list[str]:
    low, high = p.hidden_from_gb_s
    if not high:
        return []
    rates = f"{_figure(low)} to {_figure(high)} GB/s ({_figure(8 * low)} to {_figure(8 * high)} Gb/s)"
    return [
        (
            f"With the simplest option that fits, sending overlaps fully with the backward pass if each GPU's link has "
            f"{rates} or more."
        )
    ]


_BOUNDS = {"host": "CPU core", "products": "matmul", "memory": "memory", "link": "link", "open": "either"}


def _name(board: Board) -> str:
    return f"{board.count}x {board.name.removesuffix(' Edition')}"


def _other(board: Board, way: str, p: Pace | None) -> tuple[str, str, str, str, str, str]:
    name, watts = _name(board), f"{board.power_w:.0f} W" if board.power_w else ""
    if p is None:
        return name, watts, way, "", "", "not listed"
    return name, watts, way, _ms(p.gpu_ms), _ms(p.host_ms), _BOUNDS[p.bound]


def _row(wide: int, name: str, watts: str, way: str, gpu: str, host: str, bound: str) -> Line:
    return line(f"  {name:<{wide}}{watts:>6}  {way:<18}{gpu:>15}{host:>15}  {bound}")


def _ms(ends: tuple[float, float]) -> str:
    low, high = map(_figure, ends)
    return f"{low} ms" if low == high else f"{low} to {high} ms"


def _figure(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"
