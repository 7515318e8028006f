"""GPUs that work individually cannot pass data to each other.

What is wrong: a copy between two GPUs, or one small all-reduce over all of them, hung or failed, or the all-reduce gave
wrong values; or the ranks of `prove --links` did not finish or got wrong data. A copy between two GPUs that delivers
wrong bytes is reported as `gpu-wrong-results`.

Symptoms: training on one GPU works; on several it hangs at the first collective, with every GPU at 100 %, or
losses are wrong.

Why it happens: an IOMMU or ACS interferes with peer-to-peer copies, an NVLink link or the fabric is down, /dev/shm is
too small, NCCL uses the wrong network interface, or NCCL has no code for this GPU.

How to fix it: fix the findings above this one first; in a container, make /dev/shm larger. If that does not help, run
once with NCCL_DEBUG=INFO, write the output to a file and read its last lines. Also run once with NCCL_P2P_DISABLE=1: if
that works, peer-to-peer is the cause.

What was examined: one child process for the pairs and one for each rank. A child that is still loading torch from a
slow disk when its time is up, or that gets no processor core, proves nothing and is reported as 'not over in time'.

Source: pairs of GPUs and one all-reduce (NCCL, else gloo) in `gpudoctor prove`; NCCL user guide, troubleshooting.
"""

from __future__ import annotations

from ..findings import Check, Finding, Findings, Fix, Matrix, NotExamined, Policy
from ..fixes.where import container_kind
from ..snapshot import Measured, Missing, Snapshot, known
from ..snapshot.measured_proof import PROVES_NOTHING
from ._measured import measured
from ._readings import limit, of_several

CHECK = Check(
    __name__,
    title="GPUs cannot pass data to each other",
    sound="Data passed between devices or ranks arrived correctly",
    severity="critical",
    layer="hardware",
    tags=("measured", "multi-gpu"),
    downstream_of=(
        "gpu-wrong-results",
        "fabric-manager-not-running",
        "nvlink-inactive",
        "acs-redirects-peer-traffic",
        "nccl-lacks-gpu-arch",
        "nccl-version-conflict",
        "ranks-meet-on-wrong-interface",
        "ranks-meet-on-wrong-interface",
        "shm-too-small",
        "memlock-limit",
    ),
    needs_gpu=False,
)


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Fails for the pairs that hung or failed, and for the all-reduce that did or gave wrong values."""
    found_by = measured(s)
    pairs, ring = known(found_by.pairs) or (), found_by.collective
    bad = [pair for pair in pairs if known(pair.right) is not False and pair.fault not in (None, *PROVES_NOTHING)]
    ring_bad = ring and (known(ring.right) is False or ring.fault not in (None, *PROVES_NOTHING))
    ranks = list(_of_ranks(s))
    yield from ranks
    if not bad and not ring_bad:
        if ranks:
            return
        if any(known(pair.right) is False for pair in pairs):
            raise NotExamined("data arrived corrupted, which another finding reports")
        rates = found_by.collective_rates
        if isinstance(rates, Missing) and rates.reason == "timeout":
            yield _out_of_time(found_by, rates.detail)
            return
        sound = any(known(pair.right) for pair in pairs) or any(known(one.right) for one in known(found_by.sends) or ())
        if not sound and not (ring and known(ring.right)):
            raise of_several(s, "no data was passed between GPUs")
        return
    # GPUs that were not proven right with torch take no part in it.
    wrong = any(known(proof.right) is False for proof in known(found_by.driver) or ())
    wrong = wrong or any(known(pair.right) is False for pair in pairs)
    causes = tuple(cause for cause in CHECK.downstream_of if wrong or cause != "gpu-wrong-results")
    if bad:
        from ..fixes.between_gpus import of_pairs

        first = bad[0]
        how = _FAULT[first.fault or "failed"]
        others = f" (and {len(bad) - 1} other pair{'s' * (len(bad) > 2)})" if len(bad) > 1 else ""
        peer = known(first.peer_access)
        direct = "" if peer is None else f"The GPUs {'copy' if peer else 'do not copy'} directly (peer access)."
        likely = "Most likely, an IOMMU or ACS interferes, or a link between the GPUs is down." if peer else ""
        yield CHECK.fail(
            f"Copying from {first.source} to {first.target}{others} {how}",
            " ".join(word for word in (_sentence(first.error), direct, likely) if word),
            facts={"pairs": [[pair.source, pair.target] for pair in bad], "peer_access": peer},
            subject=f"{first.source}>{first.target}",
            fixes=of_pairs(s) if peer else _of_nccl(s),
            downstream_of=causes,
        )
    if ring and ring_bad:
        how = "gives wrong values" if known(ring.right) is False else _FAULT[ring.fault or "failed"]
        small = _small_shm(s, p)
        shm = f"Most likely cause: NCCL puts its buffers in /dev/shm, which has only {known(s.host.shm_mib)} MiB."
        yield CHECK.fail(
            f"An all-reduce over {ring.ranks} ranks with {_NAMES.get(ring.backend, ring.backend)} {how}",
            " ".join(word for word in (_sentence(ring.error), shm if small else "") if word),
            facts={"backend": ring.backend, "ranks": ring.ranks, "fault": ring.fault},
            subject=ring.backend,
            fixes=(*_more_shm(s), *_of_nccl(s)) if small else _of_nccl(s),
            downstream_of=causes,
        )


def _of_ranks(s: Snapshot) -> Findings:
    """What went wrong between the ranks of `prove --links`."""
    m = s.measured
    backend = next((group.backend for group in known(m.link_groups) or ()), "")
    name = _NAMES.get(backend, backend)
    wrong = [rate.operation for rate in known(m.collective_rates) or () if known(rate.right) is False]
    wrong += [f"rank {one.source} to {one.target}" for one in known(m.sends) or () if known(one.right) is False]
    wrong += ["DDP"] if any(known(run.right) is False for run in known(m.ddp) or ()) else []
    if wrong:
        yield CHECK.fail(
            f"Ranks receive wrong data over {name}",
            f"Wrong data in: {', '.join(dict.fromkeys(wrong))}.",
            facts={"backend": backend, "wrong": list(dict.fromkeys(wrong))},
            subject="ranks",
            fixes=_links_again(backend),
        )
    ended = [end for end in m.ended if end.agent == "collective_speed" and end.fault not in PROVES_NOTHING]
    if ended and not wrong:
        first = next((end for end in ended if end.device.startswith("rank")), ended[0])
        if first.step == "start" and first.fault == "hang":
            yield CHECK.fail(
                "Rendezvous failed",
                f"{_sentence(first.detail)} Possible causes: the command was not started on every node, a host name "
                "resolves to a different address on some node, or a firewall blocks the first node's port.",
                facts={"backend": backend, "fault": first.fault, "step": first.step},
                subject="ranks",
                fixes=_links_again(backend),
            )
            return
        if first.step == "start" and first.fault == "failed" and not first.device.startswith("rank"):
            # The launcher exited before any rank reported: its own options, its own traceback. No data was passed.
            yield CHECK.unknown(
                "The ranks were not started",
                f"{_sentence(first.detail)} torchrun exited before any rank started, so the links were not tested.",
                facts={"backend": backend, "fault": first.fault, "step": first.step},
                subject="ranks",
                fixes=(*_for_torchrun(s, first.detail), *_links_again(backend)),
            )
            return
        how = _FAULT.get(first.fault, "fails")
        where = f", {first.device}" if first.device.startswith("rank") else ""
        yield CHECK.fail(
            f"Passing data between ranks{f' over {name}' if name else ''} {how} ({first.step}{where})",
            _sentence(first.detail),
            facts={"backend": backend, "fault": first.fault, "step": first.step},
            subject="ranks",
            fixes=_links_again(backend),
        )


def _out_of_time(m: Measured, why: str) -> Finding:
    """`prove --links` measured no link: that is no pass."""
    from ..fixes.speed import with_more_time

    return CHECK.unknown(
        "Links between ranks were not measured",
        _sentence(why),
        facts={"step": "collective_speed"},
        subject="ranks",
        fixes=(with_more_time(m, "links-again-with-time", "Rerun with more time"),),
    )


def _for_torchrun(s: Snapshot, detail: str) -> tuple[Fix, ...]:
    """torchrun of torch 2.6.0 imports importlib_metadata before Python 3.10, and its metadata does not require it."""
    if detail != "ModuleNotFoundError: No module named 'importlib_metadata'":
        return ()
    from ..fixes.install import Install, step
    from ..fixes.speed import AGAIN

    name = "importlib_metadata"
    return (
        Fix(
            id="install-for-torchrun",
            title=f"Install {name}",
            steps=(
                step(
                    s,
                    Install(packages=(name,)),
                    f"Install {name}: torchrun imports it on Python older than 3.10, but torch does not require it.",
                    changes=AGAIN,
                ),
            ),
            source="https://github.com/pytorch/pytorch/issues/163946",
        ),
    )


def _links_again(backend: str) -> tuple[Fix, ...]:
    from ..fixes.speed import here

    words = (
        "With several nodes, start the command on all of them within two minutes; each node must be able to reach the "
        "first node's port."
    )
    log = "TORCH_DISTRIBUTED_DEBUG=DETAIL " + ("NCCL_DEBUG=INFO " if backend == "nccl" else "")
    return (here("links-again-with-log", "Rerun with verbose logging", words, f"{log}gpudoctor prove --links"),)


_FAULT = {"hang": "hangs", "crash": "crashes its process", "failed": "fails", "skipped": "was skipped"}
_NAMES = {"nccl": "NCCL"}


def _sentence(words: str) -> str:
    """An agent's words with a capital letter and a period."""
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}" if words else ""


def _small_shm(s: Snapshot, p: Policy) -> bool:
    size = known(s.host.shm_mib)
    return bool(container_kind(s)) and size is not None and size <= limit(p, "shm_warn_mib", 64)


def _more_shm(s: Snapshot) -> tuple[Fix, ...]:
    from ..fixes.limits import more_shm
    from ..fixes.speed import measured_again

    return measured_again((more_shm(s),))


def _of_nccl(s: Snapshot) -> tuple[Fix, ...]:
    from ..fixes.speed import here

    log = "NCCL_DEBUG=INFO NCCL_DEBUG_FILE=/tmp/nccl.%p.log gpudoctor prove --quick"
    if known(s.host.env("NCCL_P2P_DISABLE")) == "1":
        words = "Peer-to-peer is already off (NCCL_P2P_DISABLE). The last lines of /tmp/nccl.*.log show what failed."
        return (here("nccl-log", "Turn on NCCL logging", words, log),)
    return (
        here(
            "without-p2p",
            "Run gpudoctor prove again without peer-to-peer",
            "If that works, peer-to-peer is the cause: turn ACS and the IOMMU off in the firmware, or leave "
            "peer-to-peer off. If not, the last lines of /tmp/nccl.*.log show what failed.",
            f"NCCL_P2P_DISABLE=1 {log}",
        ),
    )
