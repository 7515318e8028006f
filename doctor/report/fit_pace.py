"""Text on what sets the pace: the bound, what would change it, and the same work on other GPUs."""

from __future__ import annotations

from ..fit.cards import Board
from ..fit.pace import Pace
from ..fit.question import Answer, Compared, Question
from .lines import BLANK, Line, Span, line, wrap


def pace_lines(q: Question, found: Answer, width: int) -> list[Line]:
    """Nothing if the board's rates are not listed."""
    rows: list[Line] = []
    if found.pace is not None:
        rows += [BLANK, line(Span("What sets the pace", "bold"))]
        for sentence in (*sentences(q, found.pace), *_network(found.pace)):
            rows += wrap(sentence, width, "  ")
    if found.compared:
        own = Compared(q.board, found.first.name if found.first else "", True, found.pace)
        all_of_them = (own, *found.compared)
        wide = max(len(_name(one.board)) for one in all_of_them) + 2
        rows += [BLANK, line(Span("The same work on other GPUs", "bold"))]
        rows.append(_row(wide, "", "", "what fits", "GPU", "host", "pace"))
        for one in all_of_them:
            way = one.way if one.sure or not one.way else f"perhaps {one.way}"
            rows.append(_other(wide, one.board, way.replace("none", "as it is") or "nothing", one.pace))
    return rows


def sentences(q: Question, p: Pace) -> list[str]:
    """The bound with its figures, then what changes it."""
    step = "token" if q.work.task == "inference" else "step"
    b = q.board
    launches = f"and its {p.kernels[0]} to {p.kernels[1]} launches take the host {_ms(p.host_ms)}"
    both = f"each {step} takes the GPU {_ms(p.gpu_ms)}, {launches}"
    if p.bound == "host":
        more = (
            f" Running up to {p.copies} such jobs on one GPU costs little; beyond that they share its speed."
            if p.copies > 1
            else ""
        )
        return [
            f"The CPU core, which launches the kernels: {both}. A faster GPU would not help.",
            (
                f"What would: a batch of about {p.busy_from} or more, CUDA graphs or torch.compile, or a faster "
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
                f"Matrix products on the CUDA cores: {both}.",
                f"TF32 or mixed precision moves them to the tensor cores, {times}; compare other GPUs by FP32 rate.",
            ]
        return [f"Matrix products on the tensor cores: {both}. Compare other GPUs by their dense half-precision rate."]
    if p.bound == "memory":
        return [
            f"The GPU's memory bandwidth ({b.memory_gb_s:.0f} GB/s): {both}. Compare other GPUs by their bandwidth; "
            + (
                "fewer bits per weight or more concurrent requests make better use of it."
                if step == "token"
                else "fusing helps."
            )
        ]
    slow = (
        "CUDA graphs (vLLM, TensorRT-LLM) remove the host's share"
        if step == "token"
        else ("CUDA graphs or torch.compile remove the host's share")
    )
    return [
        (
            f"The CPU core or the GPU, depending on how fast this core is: {both}. {slow}; `gpudoctor prove` measures "
            f"which it is."
        )
    ]


def _network(p: Pace) -> list[str]:
    low, high = p.hidden_from_gb_s
    if not high:
        return []
    rates = f"{_figure(low)} to {_figure(high)} GB/s ({_figure(8 * low)} to {_figure(8 * high)} Gb/s)"
    return [
        (
            f"With the simplest option that fits, sending is hidden behind the backward pass if each GPU's link has "
            f"{rates} or more."
        )
    ]


_BOUNDS = {"host": "CPU core", "products": "products", "memory": "memory", "link": "link", "open": "either"}


def _name(board: Board) -> str:
    return f"{board.count}x {board.name.removesuffix(' Edition')}"


def _other(wide: int, board: Board, way: str, p: Pace | None) -> Line:
    name, watts = _name(board), f"{board.power_w:.0f} W" if board.power_w else ""
    if p is None:
        return _row(wide, name, watts, way, "", "", "not listed")
    return _row(wide, name, watts, way, _ms(p.gpu_ms), _ms(p.host_ms), _BOUNDS[p.bound])


def _row(wide: int, name: str, watts: str, way: str, gpu: str, host: str, bound: str) -> Line:
    return line(f"  {name:<{wide}}{watts:>6}  {way:<18}{gpu:>15}{host:>15}  {bound}")


def _ms(ends: tuple[float, float]) -> str:
    low, high = map(_figure, ends)
    return f"{low} ms" if low == high else f"{low} to {high} ms"


def _figure(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"
