"""The words of a question that a command needs: the place, the model's size, the GPU, versions, names of files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from compat_matrix.versions import numbers

from ..formats.lazy import lazy
from ..snapshot.masks import holds_mask
from .names import typed

if TYPE_CHECKING:
    from compat_matrix import Matrix

_TARGETS = {
    "kubectl": lazy(r"\b(?:kubernetes|k8s|k3s|kubectl|pods?|openshift|eks|gke|aks|minikube)\b|쿠버네티스|파드"),
    "podman": lazy(r"\bpodman\b"),
    "docker": lazy(
        r"\b(?:docker|compose|containers?)\b|도커|컨테이너|容器|コンテナ|контейнер|докер|\bcontenedor|\bconteneur"
    ),
    "slurm": lazy(r"\b(?:slurm|srun|sbatch)\b"),
    "notebook": lazy(r"\b(?:notebook|jupyter\w*|colab|kaggle)\b"),
    "ssh": lazy(r"\b(?:ssh|remote (?:host|machine|server|box))\b"),
    "ray": lazy(r"\bray\b"),
}
"""The first that is named counts."""
_NAME = r"(?:named |called )?[\"'`]?([a-z0-9][\w.-]{0,60}[\w-])[\"'`]?"
_POD = lazy(rf"\bpod {_NAME}")
_NAMESPACE = lazy(
    r"(?:\bnamespace|\s-n)[ =:]+[\"'`]?([a-z0-9][a-z0-9-]{0,62})|\bin (?:the )?([a-z0-9-]{2,63}) namespace"
)
_CONTAINER = lazy(rf"\bcontainer {_NAME}")
_HOST = lazy(rf"\b(?:ssh(?: to| into)?(?: box| host| server)?|host|server|machine|node|box) {_NAME}")
_CARD = lazy(
    r"(?:\b(?:\d{1,3}|one|single|dual|two|three|four|eight)(?:\s?[x×*]\s?|\s))?(?:\b(?:nvidia |geforce |tesla ))*"
    r"(?:\b[rg]tx[ -]?(?:pro )?a?\d{3,4}|(?<![a-wyz\d.])(?:a[2456]\d{3}|t4|p100|v100|a(?:2|10g?|16|30|40|100)|l40s?|l4"
    r"|h(?:20|100|200)|b[23]00|gh200|[12345]0[5-9]0)(?![\d%])|\btitan (?:rtx|v|xp))(?: ?ti\b| ?super\b| ada\b)*s?\b"
    r"(?:[ -]\(?\d{2,3} ?gi?b\b)?"
)
_SIZE = lazy(r"(?<![\w.x])(\d{1,4}(?:\.\d{1,3})?) ?(?:(b|bn|billion)\b|(?:m|million)(?=[ -]param))")
_TRAINS = lazy(r"\b(?:train\w*|fine-?tun\w*|pre-?train\w*|q?lora|sft|rlhf|dpo|optimi[sz]er|gradients?)\b")
_SERVES = lazy(
    r"\b(?:infer\w*|serv\w+|vllm|ollama|llama\.?cpp|chat\w*|generat\w*|run|running|load\w*|tgi|sglang|deploy\w*|gguf)\b"
)
_TYPES = {
    "awq": "awq", "gptq": "gptq", "fp8": "fp8", "4-bit": "int4", "4bit": "int4", "4 bit": "int4", "int4": "int4",
    "q4_k_m": "q4_k_m", "q8_0": "q8_0", "8-bit": "int8", "8bit": "int8", "8 bit": "int8", "int8": "int8",
    "fp16": "fp16", "bf16": "bf16", "fp32": "fp32",
}  # fmt: skip
_RANK = lazy(r"\b(?:rank|r)[ =]{0,3}(\d{1,4})\b")
_SEQUENCE = lazy(
    r"\b(\d{1,7}) ?(k?) ?(?:of )?(?:context|tokens?|ctx)\b|\b(?:context|ctx|seq\w*)\D{0,12}(\d{3,7}|\d{1,4}(?=k))(k?)\b"
)
_BATCH = lazy(r"\bbatch(?:[ _-]?size)?(?: of| is|=|:)? ?(\d{1,5})\b")
_IMAGE = lazy(r"\b[\w.-]+(?::\d{1,5})?(?:/[\w.-]+)+(?::[\w.-]*\w)?|\b[a-z][\w.-]*:[\w.-]*\d[\w.-]*\b")
_RECIPE = lazy(r"\b[\w./-]*(?:Dockerfile[\w.-]*|\.ya?ml)\b")
_SCRIPT = lazy(r"\b[\w./-]*\w\.py\b")
_SERVER = lazy(r"\b(?:servers?|service|serving|vllm|ollama|comfyui|webui|tgi|sglang|daemon)\b")
_DRIVER = lazy(r"\bdriver\D{0,20}(\d{3}(?:\.\d{1,3}){0,2})(?![\w.])|(?<![\w.])(\d{3}\.\d{2,3}(?:\.\d{2})?)(?![\w.])")
_TORCH = lazy(r"\b(?:py)?torch\D{0,20}(\d\.\d{1,2}(?:\.\d)?(?:\+cu\d{3})?)(?![\w.])")
_PYTHON = lazy(r"\bpython\D{0,20}(3\.\d{1,2})(?![\w.])")
_CHANGED = {"driver": _DRIVER, "torch": _TORCH, "python": _PYTHON}
_OLD = lazy(r"\bfrom (?:[a-z]+ )?[\d.]+(?:\+cu\d{3})?")
_PACKAGES = {
    "flash": "flash-attn", "vllm": "vllm", "sglang": "sglang", "xformers": "xformers", "bitsandbytes": "bitsandbytes",
    "mamba": "mamba-ssm", "causal-conv1d": "causal-conv1d", "tensorflow": "tensorflow", "jax": "jax", "cupy": "cupy",
    "onnx": "onnxruntime-gpu", "torchvision": "torchvision", "torchaudio": "torchaudio",
}  # fmt: skip
"""What people write: how `resolve` names it."""
_WAITING = ("pod", "container", "server", "training", "inference", "dataloader", "notebook", "job")
_UNITS = {"kubectl": "kubernetes", "docker": "compose", "podman": "compose", "slurm": "slurm-prolog"}
_NODES = {
    "kubectl": "--on kubernetes --selector nvidia.com/gpu.present=true",
    "slurm": "--on slurm --partition PARTITION",
    "ray": "--on ray --address auto",
}
_CHECKS = {
    "slurm": "srun --gpus=1 gpudoctor check",
    "notebook": "!gpudoctor check --python {__import__('sys').executable}",
}
_WHERE = {"kubectl": "the pod", "docker": "the container", "podman": "the container", "slurm": "the job"}
_CELL = " (in a cell of the notebook: it examines the notebook's own Python)"
_TRAINING = " (for training; for inference only, add --task inference)"
_TWO = {
    "kubectl": "--target kubectl:NAMESPACE/GOOD --target kubectl:NAMESPACE/BAD",
    "docker": "--target docker:GOOD --target docker:BAD",
}
_FILES = {"kubectl": "pod.yaml", "compose": "compose.yaml"}


class Card(NamedTuple):
    """A GPU that the question names, as the matrix knows it."""

    many: int
    name: str
    memory: str
    """`-80GB` or, if the board is not listed with this size, `=48GB`."""

    def flag(self, flag: str, text: str) -> str:
        """A flag with a GPU's name; '' if none is named."""
        return f"{flag} {_quoted(text)}" if self.name else ""


def capabilities_named(question: str, m: Matrix) -> list[str]:
    """The compute capabilities of all boards that a question names and the matrix lists."""
    names = [typed(found[0]).name for found in _CARD.finditer(question.lower())]
    found = {row.cc for name in names for row in m.gpu(name).rows or m.gpus_like(name).rows}
    return sorted(found, key=numbers)


def package_named(question: str) -> str:
    """The package other than torch that a question is about, as `resolve` names it."""
    wording = question.lower()
    return next((name for word, name in _PACKAGES.items() if word in wording), "")


def words_for(question: str, wording: str, m: Matrix) -> Mapping[str, str]:
    """The words that a row of the table may name. `wording`: the question in lower case, without what it denies."""
    where = next((where for where, words in _TARGETS.items() if words.search(wording)), "")
    target = _target(where, wording)
    check = _CHECKS.get(where) or f"gpudoctor check{f' --target {target}' if target else ''}"
    recipe = _first(_RECIPE, question)
    return {
        "check": check,
        "place": f"whether {_WHERE[where]} gets the GPU" if where in _WHERE else "whether the GPU can be used there",
        "cell": _CELL if where == "notebook" else "",
        "check_pod": check if where == "kubectl" else "",
        "recipe_of_pod": f"gpudoctor dockerfile {recipe or _FILES['kubectl']}" if where == "kubectl" else "",
        "recipe": recipe or next((_FILES[word] for word in (where, *wording.split()) if word in _FILES), "Dockerfile"),
        "unit": _UNITS.get(where, "systemd"),
        "nodes": _NODES.get(where, "--on ssh --nodes NODES"),
        "two": _TWO.get(where, "OLD.json"),
        **_of_machine(question, wording, _card(wording, m)),
        **_of_program(question, wording),
    }


def _of_machine(question: str, wording: str, card: Card) -> dict[str, str]:
    """GPU, driver and versions."""
    gpu, driver, new = card.flag("--gpu", card.name), _flag("--driver", _DRIVER, wording), _OLD.sub("", wording)
    change = [_flag(f"--{name}", words, new) for name, words in _CHANGED.items()]
    package = package_named(wording)
    fit = _joined(*_model(wording), card.flag("--gpus", f"{f'{card.many}x' * (card.many > 1)}{card.name}{card.memory}"))
    wanted = driver or "--driver none" * ("driver" in wording)
    return {
        "image": _joined(_first(_IMAGE, question) or "IMAGE", driver, gpu if driver else ""),
        "change": _joined(*(change if any(change) else [gpu])) or "--driver VERSION",
        "package": f"gpudoctor resolve {package}" if package else "",
        "resolve": _joined(package, gpu, wanted if gpu else ""),
        "fit": fit,
        "task": "" if _TRAINS.search(wording) or "--task" in fit else _TRAINING,
        "others": "gpudoctor check" if re.search(r"out of|\boom", wording) else "",
    }


def _of_program(question: str, wording: str) -> dict[str, str]:
    """What runs there."""
    serves = _SERVER.search(wording) and not _TRAINS.search(wording)
    return {
        "waits": next((word for word in _WAITING if word in wording), "program"),
        "program": "--pid PID" if serves else f"-- python {_first(_SCRIPT, question) or 'train.py'}",
    }


def _target(where: str, wording: str) -> str:
    """The value of `--target`; '' for a where that it does not reach."""
    if where == "kubectl":
        return f"kubectl:{_first(_NAMESPACE, wording) or 'NAMESPACE'}/{_own(_POD, wording) or 'POD'}"
    if where in ("docker", "podman"):
        return f"{where}:{_own(_CONTAINER, wording) or 'NAME'}"
    return f"ssh:{_own(_HOST, wording) or 'HOST'}" if where == "ssh" else ""


def _own(pattern: re.Pattern[str], wording: str) -> str:
    """The first name that is no word of English: it has a digit, a dot, a hyphen or an underscore."""
    names = (found[1] for found in pattern.finditer(wording) if re.search(r"[\d._-]", found[1]))
    return next((name for name in names if not holds_mask(name)), "")


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    value = next(filter(None, (*found.groups(), found[0])), "") if found else ""
    return "" if holds_mask(value) else value


def _flag(flag: str, pattern: re.Pattern[str], text: str) -> str:
    return f"{flag} {value}" if (value := _first(pattern, text)) else ""


def _joined(*words: str) -> str:
    return " ".join(word for word in words if word)


def _quoted(text: str) -> str:
    return f"'{text}'" if " " in text else text


def _card(wording: str, m: Matrix) -> Card:
    """The first board that is named, if the matrix lists it."""
    for found in _CARD.finditer(wording):
        board = typed(found[0])
        rows = m.gpu(board.name).rows or m.gpus_like(board.name).rows
        if not rows:
            continue
        name = board.name if " " in board.name else board.name.upper()
        name = re.sub(r"\b[a-z]{1,3}(?=\d)|\b(?:rtx|gtx|pro|titan)\b", lambda word: word[0].upper(), name)
        sizes = {row.memory_gib for row in rows}
        sign = "-" if board.memory_gib in sizes else "="
        return Card(max(board.boards, 1), name, f"{sign}{board.memory_gib}GB" if board.memory_gib else "")
    return Card(0, "", "")


def _model(wording: str) -> list[str]:
    """The model's size, and what is done with it, as flags of `fit`."""
    size, trains = _SIZE.search(wording), bool(_TRAINS.search(wording))
    flags = [f"--params {size[1]}{'B' if size[2] else 'M'}" if size else "--params N"]
    kind = next((kind for word, kind in _TYPES.items() if word in wording), "")
    if trains and "lora" in wording:
        flags.append(f"--lora {_first(_RANK, wording) or 16}")
        flags.append("--base nf4" if "qlora" in wording or kind == "int4" else "")
    elif not trains and (kind or _SERVES.search(wording)):
        flags.append("--task inference")
        flags.append(f"--dtype {kind}" if kind else "")
    if found := _SEQUENCE.search(wording):
        count, kilo = (found[1], found[2]) if found[1] else (found[3], found[4])
        flags.append(f"--seq {int(count) * (1024 if kilo else 1)}")
    return [*flags, _flag("--batch", _BATCH, wording)]
