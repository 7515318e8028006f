"""What was seen of a watched run: the GPU's time, the CPU's, memory, power."""

from __future__ import annotations

from ..judge.report import Report
from ..snapshot import known
from ..snapshot.measured import Load, Measured, Watch
from .amounts import amount, memory, number, percent, several
from .expected import PACE
from .lines import Line, Span, wrap
from .measured_tables import celsius, reasons, watts
from .table import Row, table


def watch_lines(report: Report, width: int, verbose: int) -> list[Line]:
    """The block 'What was watched'; empty without a watched run."""
    m = report.snapshot.measured
    w = m.watch
    if w is None:
        return []
    rows = wrap(watched_words(w), width, first=Span("What was watched  ", "bold"), hang=2)
    rows += table(watch_rows(w), width)
    if pace := pace_words(report):
        rows += wrap(pace, width, "  ", style="bold")
    for name, text in watch_notes(m, w, verbose):
        rows += wrap(text, width, "  ", first=f"{name}: ", hang=4)
    return rows


def pace_words(report: Report) -> str:
    """What limited the run, as a sentence."""
    verdict = report.measured
    if verdict is None or verdict.watch_bound is None:
        return ""
    return PACE[verdict.watch_bound] + (f": {verdict.watch_reason}." if verdict.watch_reason else ".")


def watched_words(w: Watch) -> str:
    """`python, 118 s, exit code 0`."""
    signal, code = known(w.signal), known(w.exit_code)
    end = f"stopped by signal {signal}" if signal else f"exit code {code}" if code is not None else ""
    words = [w.program or "a program", amount(w.seconds, "s"), "already running" if w.attached else "", end]
    return ", ".join(word for word in words if word)


def watch_rows(w: Watch) -> list[Row]:
    """Shares of the time, as bars."""
    rows = []
    busy, idle = known(w.gpu_busy_percent), known(w.gpu_idle_percent)
    if busy is not None:
        by = "by this process" if w.gpu_busy_by == "process" else "by all programs on it" if w.gpu_busy_by else ""
        rows.append(Row("GPU busy", number(round(busy)), "%", by, busy / 100))
        alone = w.gpu_busy_by != "process" or not known(w.others_on_gpu)
        none = f"no work at all in {percent(idle)} of the samples" if idle is not None else ""
        label = "GPU waited" if alone else "GPU not working for this program"
        rows.append(Row(label, number(max(0, 100 - round(busy))), "%", none, max(0.0, 1 - busy / 100)))
    cpu, cores = known(w.cpu_cores), known(w.cores)
    if cpu is not None:
        note = f"of {number(cores)} available" if cores else ""
        rows.append(Row("CPU", number(cpu), several(cpu, "core").split()[1], note, cpu / cores if cores else None))
    thread = known(w.busiest_thread)
    if thread is not None:
        full = known(w.busiest_thread_saturated_percent)
        words = [w.busiest_thread_name, f"full in {percent(full)} of the samples" if full else ""]
        note = ", ".join(word for word in words if word)
        rows.append(Row("busiest thread", number(round(100 * thread)), "%", note, thread))
    return rows


def watch_notes(m: Measured, w: Watch, verbose: int) -> list[tuple[str, str]]:
    """(name, words): processes, memory, power, throttling; what watching took with `verbose`."""
    loads = [load for load in known(m.loads) or () if load.phase == "watch"]
    load = next((x for x in loads if x.key in (*w.gpu_keys, "")), None)
    rows = [("programs", _programs(w)), ("GPU", _gpu(w, load))]
    if verbose:
        seconds, libraries = known(w.gpu_first_seen_s), known(w.libraries)
        rows.append(("first GPU use", [f"after {amount(seconds, 's')}" if seconds is not None else ""]))
        rows.append(("CUDA libraries", [", ".join(libraries[:12]) if libraries else ""]))
        rows.append(("distributed job", [several(ranks, "rank") if (ranks := known(w.world_size)) else ""]))
        rows.append(("watching used", [amount(w.sampler_cpu_s, "s of CPU time")]))
    texts = [(name, ", ".join(word for word in words if word)) for name, words in rows]
    return [(name, text) for name, text in texts if text]


def _programs(w: Watch) -> list[str]:
    main, workers, their = known(w.main_cores), known(w.workers), known(w.workers_cores)
    disk, core = known(w.blocked_percent), known(w.core_wait_percent)
    used = f" with {several(their, 'core')}" if their is not None else ""
    most = f"{several(w.processes_max, 'process')} and {several(w.threads_max, 'thread')}"
    stuck = known(w.workers_blocked_percent)
    used += f" (waiting for a disk in {percent(stuck)} of the samples)" if stuck else ""
    loaders = f"{several(workers, 'loader worker')}{used}" if workers else "no loader workers"
    return [
        f"main process {several(main, 'core')}" if main is not None else "",
        loaders if workers is not None else "",
        f"at most {most}" if w.processes_max else "",
        f"waited for a disk in {percent(disk)} of the samples" if disk else "",
        f"ready to run but without a core {percent(core)} of the time" if core and core >= 1 else "",
    ]


def _gpu(w: Watch, load: Load | None) -> list[str]:
    most, others, rate = known(w.gpu_memory_max_mib), known(w.others_on_gpu), known(w.h2d_mb_s)
    words = [f"at most {memory(most)} of memory" if most is not None else ""]
    words += [watts(load), celsius(load)] if load else []
    words += _activity(load) if load else []
    words += [f"copies to it {amount(rate, 'MB/s')}" if rate else ""]
    words += reasons(load.reasons_percent) if load else []
    return [*words, f"{several(others, 'other program')} on it" if others else ""]


def _activity(load: Load) -> list[str]:
    """What the GPU did while a kernel was on it, where the driver counts it."""
    sm, tensor, memory = (
        known(share) for share in (load.sm_activity_percent, load.tensor_activity_percent, load.memory_activity_percent)
    )
    sent, nvlink = known(load.pcie_tx_mb_s), known(load.nvlink_mb_s)
    return [
        f"SMs active {percent(sm)}" if sm is not None else "",
        f"tensor cores {percent(tensor)}" if tensor is not None else "",
        f"memory bandwidth {percent(memory)}" if memory is not None else "",
        f"copies from it {amount(sent, 'MB/s')}" if sent else "",
        f"NVLink {amount(nvlink, 'MB/s')}" if nvlink else "",
    ]
