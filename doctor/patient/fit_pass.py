"""Agent: what a training keeps, counted in steps on the meta device: no memory is taken. JSON lines on stdout.

Run under the patient's Python: `python -m doctor.patient.fit_pass QUESTION`, QUESTION as JSON: {"shape": SHAPE or
null, "file", "class", "batch", "sequence", "runs": [{"dtype": fp32 | half | mixed, "eager", "checkpointing",
"kept"}]}. Each run is one step; live bytes are those of storages that are still referred to after an operation, to 0.1
%. kept: the gradients stay between the steps.

Lines: {"begin": ...}; {"run": {..., "parameters", "weights", "gradients", "copied", "peak", "operations"}}: bytes
of each and at the peak, AdamW's states left out; {"failed": one line}.
"""

from __future__ import annotations

import json
import sys

from .fit_model import Transformer, fused_attention
from .json_lines import Lines
from .noise import real_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Missing(Exception):
    """What cannot be counted here: one line."""


def live_counter(torch: Any) -> Any:
    """A dispatch mode whose `peak` is the most bytes that storages made under it held at once."""
    try:
        from torch.multiprocessing.reductions import StorageWeakRef
        from torch.utils._python_dispatch import TorchDispatchMode
        from torch.utils._pytree import tree_flatten
    except ImportError:
        raise Missing("torch " + torch.__version__ + " has no dispatch modes: 2.0 or newer is needed") from None

    class Live(TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.storages: dict[int, tuple[Any, int]] = {}
            self.held = self.peak = self.operations = 0

        def add(self, tensor: Any) -> None:
            storage = tensor.untyped_storage()
            if storage._cdata not in self.storages:
                self.storages[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
                self.held += storage.nbytes()

        def look(self) -> None:
            gone = [key for key, (ref, _) in self.storages.items() if ref.expired()]
            for key in gone:
                self.held -= self.storages.pop(key)[1]
            self.peak = max(self.peak, self.held)

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found = func(*args, **(kwargs or {}))
            self.operations += not getattr(func, "is_view", False)
            for one in tree_flatten(found)[0]:
                if isinstance(one, torch.Tensor):
                    self.add(one)
            if self.held > self.peak * 1.001:  # all are looked at only where it could be a new peak
                self.look()
            return found

    return Live()


def counted(torch: Any, question: dict[str, Any], run: dict[str, Any], device: str = "meta") -> dict[str, Any]:
    """One step forward and backward; bytes."""
    model = _own(torch, question, run["dtype"]) if question.get("file") else None
    if model is None:
        made = Transformer(torch, question["shape"], run["dtype"], device, run["eager"])
        parameters = made.parameters
    else:
        made, parameters = None, [p for p in model.parameters() if p.requires_grad]
    live = live_counter(torch)
    weights = sum(p.numel() * p.element_size() for p in parameters)
    if run["kept"]:
        for p in parameters:
            p.grad = torch.zeros_like(p)
    for p in parameters:
        live.add(p)
        if p.grad is not None:
            live.add(p.grad)
    with live:
        if made is not None:
            loss = made.loss(question["batch"], question["sequence"], run["checkpointing"])
            made.forward = False
            made.copies = {}
        else:
            loss = _own_loss(torch, model, question, run["eager"])
        loss.backward()
    gradients = sum(p.grad.numel() * p.grad.element_size() for p in parameters if p.grad is not None)
    return {
        **run, "parameters": sum(p.numel() for p in parameters), "weights": weights, "gradients": gradients,
        "copied": made.copied if made is not None else 0, "peak": live.peak, "operations": live.operations,
    }  # fmt: skip


def _own(torch: Any, question: dict[str, Any], dtype: str) -> Any:
    """The user's class, made on the meta device."""
    import runpy

    found = runpy.run_path(question["file"], run_name="model").get(question["class"])
    if not callable(found):
        raise Missing("{file} has no class {class}".format(**question))
    with torch.device("meta"):
        model = found()
    if not isinstance(model, torch.nn.Module):
        raise Missing("{class} of {file} is no torch.nn.Module".format(**question))
    return model.to("meta", torch.float32 if dtype in ("fp32", "mixed") else torch.bfloat16).train()


def _own_loss(torch: Any, model: Any, question: dict[str, Any], eager: bool) -> Any:
    ids = torch.zeros(question["batch"], question["sequence"], dtype=torch.long, device="meta")
    functional = torch.nn.functional
    whole = functional.scaled_dot_product_attention
    if not eager:
        fused = fused_attention(torch)
        functional.scaled_dot_product_attention = lambda q, k, v, *rest, **named: fused.apply(q, k, v)
    try:
        found = model(ids)
    finally:
        functional.scaled_dot_product_attention = whole
    from torch.utils._pytree import tree_flatten

    parts = getattr(found, "loss", None)
    floats = [t for t in tree_flatten(dict(found) if hasattr(found, "keys") else found)[0]
              if isinstance(t, torch.Tensor) and t.is_floating_point() and t.requires_grad]  # fmt: skip
    if parts is not None:
        return parts
    if not floats:
        raise Missing("{class} of {file}: no result that a gradient can be taken of".format(**question))
    return floats[0].float().mean()


def main(arguments: list[str]) -> None:
    say = Lines(real_output()).emit
    question = json.loads(arguments[0])
    say(begin="import torch")
    try:
        import torch

        for run in question["runs"]:
            say(begin="a step of {} x {} tokens".format(question["batch"], question["sequence"]))
            say(run=counted(torch, question, run))
    except Missing as missing:
        say(failed=str(missing))
    except Exception as error:  # the user's code may raise anything
        first = str(error).strip().split("\n")[0]
        say(failed=(type(error).__name__ + ": " + first)[:300])


if __name__ == "__main__":
    main(sys.argv[1:])
