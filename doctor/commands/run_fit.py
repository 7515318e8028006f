"""What `fit` does once its flags are known."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..fit import Board, Unbuildable, Unclear, Unreadable, Work, boards, of_snapshot, read_model, typical
from ..fit.question import Answer, Question, answer
from ..formats.given import is_stream, near_names
from ..guard import Refusal
from .assess import matrix_of
from .counted import parameter_count
from .run_resolve import looked_at
from .write import answer as print_answer
from .write import echo

if TYPE_CHECKING:
    from compat_matrix import Matrix

_SMALL = 1e8
_INFERENCE_SHARE = 0.9
"""Share of a GPU's memory that vLLM uses by default."""


def run_fit(flags: dict[str, Any]) -> int:
    """Work it out and print; returns the exit code."""
    m = matrix_of(flags)
    try:
        question = _question(m, flags)
    except (Unbuildable, Unclear) as unclear:
        if not getattr(unclear, "unknown", True):
            raise Refusal(str(unclear)) from None
        echo(f"gpudoctor: {unclear}", err=True)
        return 3
    except Unreadable as error:
        raise Refusal(str(error)) from None
    found = answer(question)
    print_answer(_rendered(question, found, flags), flags)
    return found.exit_code


def _rendered(question: Question, found: Answer, flags: dict[str, Any]) -> str:
    if flags["format_"] == "json":
        import msgspec

        return msgspec.json.format(msgspec.json.encode(found.plain(question)), indent=2).decode() + "\n"
    if flags["format_"] in ("html", "markdown"):
        from ..report.fit_document import fit_document
        from ..report.page_plain import written

        return written("gpudoctor fit", fit_document(question, found), flags["format_"])
    from ..report.fit import fit_lines, headline
    from .display import display

    how = display(flags)
    return how.written((headline if how.quiet else fit_lines)(question, found, how.width))


def _question(m: Matrix, flags: dict[str, Any]) -> Question:
    task, kept = flags["task"], None
    _refuse_contradictions(flags)
    if flags["model"]:
        path = Path(flags["model"])
        if not is_stream(flags["model"]) and not path.exists():
            near = near_names(str(path)) or "; give a config.json or --params (model hubs are not contacted)"
            raise Refusal(f"{path}: no such file or folder{near}")
        model = read_model(path)
        shape, count, name, notes = model.shape, float(model.most or model.count), model.name, model.notes
        fewest = float(model.fewest or model.count)
        if flags["params"]:
            count = fewest = parameter_count(flags["params"])
        dtype, kept = model.dtype, None if flags["dtype"] or flags["params"] else model.stored
    elif flags["own_class"]:
        shape, dtype, notes, name, count, fewest = typical(_SMALL), "", (), "", _SMALL, _SMALL  # the pass counts them
    else:
        count = fewest = parameter_count(flags["params"])
        shape, dtype, notes = typical(count), "", ()
        name = f"a typical decoder of that size: {shape.layers} layers, width {shape.hidden}, {shape.heads} heads"
    work = Work(
        task=task,
        dtype=flags["dtype"] or ("mixed" if task == "training" else dtype or "bf16"),
        optimizer=flags["optimizer"] or "adamw",
        sequence=flags["seq"],
        batch=flags["batch"],
        accumulation=flags["accumulation"],
        checkpointing=flags["checkpointing"],
        lora=flags["lora"] or 0,
        base=flags["base"] or "",
        stored=kept,
        kv_dtype=flags["kv_dtype"] or "bf16",
        rule=flags["rules"] or "",
        attention=flags["attention"] or "",
    )
    board, *larger = _boards(m, flags)
    work = replace(work, context=board.context)
    if flags["meta_device"] or flags["own_class"]:
        from .fit_counted import count_pass

        passed = count_pass(flags, None if flags["own_class"] else shape, work)
        work = replace(work, counted=passed.counted)
        if flags["own_class"]:
            count = fewest = float(passed.parameters)
            name = f"{flags['own_class']}, counted in one training step"
            if not flags["model"]:
                shape = typical(count)
    share = flags["share"] or (_INFERENCE_SHARE if task == "inference" else 1.0)
    network = (flags["network"] or 0.0) / 8
    names = [name.strip() for name in (flags["compare"] or "").split(",") if name.strip()]

    def usable(kinds: Iterable[Board]) -> tuple[Board, ...]:
        return tuple(replace(one, memory=one.memory * share, network_gb_s=network) for one in kinds)

    board, *larger = usable([board, *larger])
    others = usable(one for name in names for one in boards(m, name))
    if network and not any(one.count > one.node for one in (board, *larger, *others)):
        raise Refusal(f"--network is for several nodes: {board.count} x {board.name} fit in one node")
    guessed = not flags["model"] and not flags["own_class"]
    return Question(
        shape=shape, count=count, fewest=fewest, name=name, work=work, board=board, share=share, notes=notes,
        guessed=guessed, solve=flags["solve"] or "", sizes=tuple(larger), others=others,
    )  # fmt: skip


_OF_A_TRAINING = {
    "lora": "--lora", "base": "--base", "checkpointing": "--checkpointing", "rules": "--rules",
    "accumulation": "--accumulation", "optimizer": "--optimizer", "attention": "--attention",
    "meta_device": "--meta-device", "own_class": "--model",
}  # fmt: skip


def _given(name: str, value: Any) -> bool:
    """Whether a flag asks for something. True equals 1 in Python, but only one batch per step is the default."""
    return value not in (None, False) and (name, value) != ("accumulation", 1)


def _refuse_contradictions(flags: dict[str, Any]) -> None:
    training, dtype = flags["task"] == "training", flags["dtype"]
    wrong = ""
    if not flags["model"] and not flags["params"] and not flags["own_class"]:
        wrong = "no model given: name a folder with its config.json, or use --params 7B"
    elif flags["gpus"] and flags["from_"]:
        wrong = "--gpus cannot be used with --from: both name GPUs"
    elif training and dtype not in (None, "mixed", "fp32", "bf16", "fp16"):
        wrong = (
            f"--dtype {dtype} is for inference; for frozen weights under adapters, set the type with --lora and --base"
        )
    elif not training and dtype == "mixed":
        wrong = "--dtype mixed is for training"
    elif not training and (given := [flag for name, flag in _OF_A_TRAINING.items() if _given(name, flags[name])]):
        wrong = f"{' and '.join(given)} {'are' if len(given) > 1 else 'is'} for training"
    elif training and flags["kv_dtype"]:
        wrong = "--kv-dtype is for --task inference"
    elif flags["python_"] and not (flags["meta_device"] or flags["own_class"]):
        wrong = "--python requires --meta-device or --model"
    elif flags["own_class"] and (flags["params"] or flags["meta_device"]):
        wrong = "--model counts the parameters itself, on the meta device"
    elif flags["base"] and not flags["lora"]:
        wrong = "--base requires --lora: it sets the type of the frozen weights"
    elif flags["rules"] and dtype not in (None, "mixed"):
        wrong = "--rules is for mixed precision"
    elif flags["solve"] == "concurrency" and training:
        wrong = "--solve concurrency is for --task inference"
    if wrong:
        raise Refusal(wrong)


def _boards(m: Matrix, flags: dict[str, Any]) -> tuple[Board, ...]:
    """The GPUs in question: one board, or one per memory size that the name has."""
    if flags["gpus"]:
        return boards(m, flags["gpus"])
    snapshot = looked_at(flags)
    kinds = of_snapshot(m, snapshot)
    if not kinds:
        where = "The report has" if flags["from_"] else "This machine has"
        raise Unclear(f"{where} no GPU with a known memory size: name GPUs, such as --gpus 8xA100-40GB")
    if len(kinds) > 1:
        names = ", ".join(f"{board.count}x{board.name}" for board in kinds)
        raise Unclear(f"there are several kinds of GPUs ({names}): choose one with --gpus")
    return (kinds[0],)
