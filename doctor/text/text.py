"""All steps from a text to a Snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import NamedTuple, cast

from ..snapshot import Missing, Snapshot, Symptom
from .answers import MARKS, joined
from .blocks import lshw
from .clean import lines_of
from .decide import symptoms
from .excerpt import Excerpt, excerpt
from .listing import lists_files
from .merge import merge
from .merge_gpus import counted
from .messages import find_hits, proven
from .plain_question import plain
from .quantities import quantity_symptoms
from .search import Haystack
from .shapes import read_shapes
from .short_question import question_of
from .statement import Line, Statement
from .success import without_success
from .tried import commands_tried
from .unknown_errors import unknown_errors
from .unwrap import unwrapped
from .where import read_log_origins, read_where
from .words import Words
from .xids import xid_symptoms


class Reader(NamedTuple):
    """A function of a file of this package: takes the lines of a text and yields what it understands."""

    file: str
    function: str
    marks: tuple[str, ...] = ()
    """Lower case; one of them stands in every text that it understands. It is imported for such a text alone."""
    most_lines: int = 0
    """Longer texts are not for it (0: any)."""

    def may_read(self, lines: list[Line], words: Words) -> bool:
        """Whether it could find something here."""
        if self.most_lines and len(lines) > self.most_lines:
            return False
        return not self.marks or any(words.may_hold(mark) for mark in self.marks)

    def read(self, lines: list[Line]) -> Iterator[Statement]:
        """What the function yields."""
        function = getattr(import_module(f".{self.file}", __package__), self.function)
        return cast("Callable[[list[Line]], Iterator[Statement]]", function)(lines)


_CSV = ("driver_version", "memory.", "uuid", "compute_cap", "name", "bus_id", "nvidia", "tesla", "quadro", "geforce")
_PACKAGES = ("nvidia-driver", "nvidia-dkms", "nvidia-open", "nvidia-kernel", "nvidia-headless", "nvidia-lts",
             "nvidia-utils", "nvidia-smi", "libnvidia-", "kmod-nvidia", "drv-nvidia", "cuda-toolkit", "cuda-nvcc",
             "cuda-drivers", "libcuda1")  # fmt: skip
_CALLS = ("is_available", "torch.__version__", "torch.version.", "get_arch_list", "device_count", "get_device_",
          "cudnn.version", "nccl.version", "cxx11_abi")  # fmt: skip
READERS = (
    Reader("grammar.pairs", "read_keyed"),
    Reader("gpus", "read_gpus", ("gpu", "device")),
    Reader("smi", "read_smi", ("nvidia-smi", "nvitop", "off |")),
    Reader("smi", "read_query", ("nvsmi", "volatile")),
    Reader("query_csv", "read_csv", _CSV),
    Reader("monitors", "read_gpustat", (" mb |",)),
    Reader("monitors", "read_discovery", ("gpu id | device information",)),
    Reader("smi", "read_nvcc", ("compilation",)),
    Reader("packages", "read_packages"),
    Reader("topo", "read_topo", ("gpu",)),
    Reader("built_with", "read_built_with", ("code=",)),
    Reader("os_packages", "read_os_packages", _PACKAGES),
    Reader("modinfo", "read_modinfo", ("filename:", "license:", "modinfo")),
    Reader("host_lists", "read_host_lists", ("nvidia", "nouveau", "linux", "generic")),
    Reader("host_lists", "read_lspci", ("controller",)),
    Reader("wsl", "read_wsl", ("wsl", "subsystem")),
    Reader("wsl", "read_wsl_list", ("name state version",), most_lines=4000),
    Reader("cudnn", "read_cudnn", ("cudnn",)),
    Reader("prose_cuda", "read_prose_cuda", ("tensorflow", "onnxruntime"), most_lines=400),
    Reader("tracebacks", "read_tracebacks", ("traceback", 'file "')),
    Reader("variables", "read_variables"),
    Reader("session", "read_session", _CALLS),
    Reader("answers", "read_answers", MARKS, most_lines=4000),
    Reader("video_controllers", "read_controllers", ("win32_videocontroller",), most_lines=4000),
    Reader("grammar.pairs", "read_free", most_lines=400),
    Reader("grammar.sentences", "read_prose", most_lines=400),
    Reader("grammar.fragments", "read_terse", most_lines=60),
    Reader(
        "readings",
        "read_readings",
        ("power", "clock", "pcie", "link", "pstate", "performance", "threads", "host_driver", "host driver"),
        most_lines=400,
    ),
    Reader("orders", "read_orders", ("smi",), most_lines=400),
    Reader("device_names", "read_device_names", ("smi", "uuid"), most_lines=400),
    Reader("links", "read_links", ("downgraded",)),
    Reader("links", "read_holders", ("kernel driver in use",)),
    Reader("links", "read_widths", ("link width", "link.width")),
    Reader("k8s_gpus", "read_k8s_gpus", ("nvidia.com/gpu",)),
    Reader("node_modes", "read_node_modes", ("nvidiactl", "nvidia0")),
    Reader("shm_room", "read_shm_room", ("/dev/shm",)),
    Reader("launch", "read_launch", ("docker run", "podman run")),
    Reader("heat", "read_heat", ("gpu current temp", "w /", "w/")),
)
"""All read every text, in any order of its parts."""


_SHORT = 60
"""Lines of a text whose every word was chosen: what it speaks of is a hint."""


_MOST_SPOKEN = 500
"""Lines at each end of a log that are read for people's words."""
_NOTE = 12
"""Lines of a note, which need not name its subject."""
_SUBJECT = ("gpu", "cuda", "nvidia", "torch", "nccl", "tensorflow", "jax", "vram", "geforce", "rtx", "gtx", "tesla",
            "quadro", "jetson", "cudnn", "nvcc", "xid", "onnx", "ggml", "dataloader", "triton",
            "nvlink", "cupy", "mlx5_")  # fmt: skip
"""One of them stands in every longer text on our subject; in any other, people's words mean something else."""


def read(data: bytes | str | Excerpt, name: str = "text") -> Snapshot:
    """The facts and messages of a text (of a large one, of its excerpt); nothing in it can fail.

    What is not understood is left out.
    """
    part = data if isinstance(data, Excerpt) else excerpt(data)
    text, numbers, *_ = part.masked(part.text)
    lines = lines_of(text, numbers)
    s, heard = _understood(lines, text, part, name)
    if question := question_of(text):
        s = s.replace({"question": question})
    if len(lines) <= _SHORT and not any(_says_what_fails(x) for x in s.symptoms):
        from . import other_languages

        if found := other_languages.ranked(lines):
            return s.replace({"ranked": found[0], "symptoms": (*s.symptoms, found[1])})
        if all(other_languages.language_of(line.text) for line in lines):
            return s  # to the ranker its words are names, or mean something else
    if lists_files(lines) or not (heard or _on_the_subject(lines)):
        return s
    from .ranker import ranked  # large files, for a text alone
    from .solved import nearest

    ranks, vector = ranked(lines, heard)
    return s.replace({"ranked": ranks, "similar": nearest(vector)})


def _says_what_fails(symptom: Symptom) -> bool:
    return bool(symptom.decides or symptom.suggests or symptom.of_program) and not symptom.mention


def _on_the_subject(lines: list[Line]) -> bool:
    """Whether a short text that no reader and no message understood names our subject: its words may tell a cause."""
    if len(lines) > _SHORT:
        return False
    words = Words(lines)
    return any(words.may_hold(word) for word in _SUBJECT)


def heard(data: str) -> tuple[Snapshot, list[Line], frozenset[int]]:
    """What `read` gives before the ranker is asked, and what that is given: the lines, and the numbers of those
    that a reader or a message understood."""
    part = excerpt(data)
    lines = lines_of(part.text, part.numbers)
    s, numbers = _understood(lines, part.text, part, "text")
    return s, lines, numbers


def _understood(lines: list[Line], text: str, part: Excerpt, name: str) -> tuple[Snapshot, frozenset[int]]:
    words = Words(lines)
    haystack = Haystack(lines, words)
    statements = [*read_shapes(haystack), *read_where(haystack), *read_log_origins(text)]
    for reader in READERS:
        if reader.may_read(lines, words):
            statements += reader.read(lines)
    whole = [*unwrapped(lines), *joined(lines), *lshw(lines)]
    every = Haystack([*lines, *whole], Words([*lines, *whole])) if whole else haystack
    hits = find_hits(every, _spoken(lines) or every, frozenset(whole))
    if len(lines) > _NOTE and not any(words.may_hold(word) for word in _SUBJECT):
        hits = [hit for hit in hits if hit.message.decides and not hit.message.people]
        statements = [found for found in statements if found.path != "gpu.prose"]
    s = counted(merge([*statements, *proven(hits)], name), statements, part)
    more = {found.path for found in statements if found.path.startswith(("jetson", "raised."))}
    if len({line.number for line in lines}) <= _SHORT:
        more.add("short-text")
    found = without_success(symptoms(hits, s, more), hits)
    found = (*found, *xid_symptoms(haystack, {x.line for x in found if x.decides}))
    found = (*quantity_symptoms(lines, s, found), *found)
    if not any(x.decides or x.suggests for x in found):
        known_lines = [(hit.line.number, hit.line.text) for hit in hits if hit.message.fix or hit.message.proves]
        facts = [(one.line, "") for one in statements if not one.path.startswith("raised.")]
        found = (*found, *unknown_errors(lines, [*known_lines, *facts]))
    heard = frozenset((*(one.line for one in statements), *(hit.line.number for hit in hits)))
    return s.replace({"symptoms": found, "unread": part.unread, "tried": commands_tried(lines)}), heard


def _spoken(lines: list[Line]) -> Haystack | None:
    """Of a long log its begin and its end, where people write: within it programs use the same words otherwise."""
    if len(lines) <= 2 * _MOST_SPOKEN:
        return None
    ends = [*lines[:_MOST_SPOKEN], *lines[-_MOST_SPOKEN:]]
    return Haystack(ends, Words(ends))


def judgeable(s: Snapshot) -> bool:
    """Whether the text said anything about a GPU, driver, torch or a message of the catalogue."""
    facts = (s.gpus, s.driver.version, s.driver.nvml_cuda_version, s.driver.cuda_version, s.driver.pci_devices,
             s.driver.kernel_version, s.driver.nvml_library_version, s.torch.version, s.torch.cuda, s.torch.build,
             s.torch_run.cuda_available, s.python.distributions, s.host.environment, s.cuda.nvcc_version,
             s.driver.libcuda_version, s.torch_run.imported, s.torch_run.nccl_version, s.cuda.toolkits)  # fmt: skip
    known_words = any(not symptom.unknown for symptom in s.symptoms)
    return known_words or bool(s.question and plain(s.question)) or any(not isinstance(fact, Missing) for fact in facts)


__all__ = ["READERS", "Line", "judgeable", "read"]
