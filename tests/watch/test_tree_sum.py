"""CPU time of a tree of processes, summed from hand-made looks."""

from __future__ import annotations

from typing import Any

from doctor.proof.watch_stat import Seen, Thread
from doctor.proof.watch_tree import TreeSum


def process(pid: int, cpu_s: float, parent: int = 1, threads: dict[int, float] | None = None, **more: Any) -> Seen:
    """A process with one thread of the same CPU time, or these."""
    names = {"name": "python", "state": "S", "reaped_s": 0.0, **more}
    found = tuple(
        Thread(tid, 100, "python" if tid == pid else f"t{tid}", s) for tid, s in (threads or {pid: cpu_s}).items()
    )
    return Seen(pid=pid, start=100, parent=parent, cpu_s=cpu_s, thread_count=len(found), threads=found, **names)


def summed(*looks: list[Seen], attached: bool = False, every: float = 1.0) -> TreeSum:
    sums = TreeSum(0.0, attached)
    for number, look in enumerate(looks):
        sums.take(number * every if attached else (number + 1) * every, look)
    return sums


def test_one_busy_thread_is_the_busiest_and_saturated() -> None:
    sums = summed(*([process(10, s, threads={10: s * 0.1, 11: s * 0.95})] for s in (1.0, 2.0, 3.0)))
    assert sums.cpu_s() == 3.0
    busiest = sums.busiest_thread()
    assert busiest is not None and abs(busiest[0] - 0.95) < 1e-9 and busiest[1] == "t11"
    assert sums.saturated_share() == 1.0


def test_a_program_that_imports_and_then_sleeps_is_idle_most_of_the_time() -> None:
    sums = summed(*([process(10, s)] for s in (1.0, 2.0, 2.0, 2.05, 2.05, 2.05)))
    assert sums.idle_share() == 4 / 6
    assert summed([process(10, 1.0)]).idle_share() is None


def test_an_idle_process_is_near_nothing() -> None:
    sums = summed(*([process(10, 0.05)] for _ in range(4)))
    assert sums.saturated_share() == 0.0 and sums.cpu_s() == 0.05
    assert (sums.busiest_thread() or (1.0, ""))[0] < 0.02


def test_a_process_that_ran_before_starts_at_nothing() -> None:
    looks = [[process(10, 500.0), process(11, 300.0, parent=10)], [process(10, 501.0), process(11, 300.5, parent=10)]]
    sums = summed(*looks, attached=True)
    assert sums.cpu_s() == 1.5
    busiest = sums.busiest_thread()
    assert busiest is not None and abs(busiest[0] - 1.0) < 1e-9


def test_the_time_of_children_that_were_waited_for_is_counted_once() -> None:
    child = process(11, 0.8, parent=10)
    sums = summed([process(10, 0.1), child], [process(10, 0.2, reaped_s=0.9)])
    assert abs(sums.cpu_s() - 1.1) < 1e-9


def test_a_child_and_its_child_that_end_together_are_counted_once() -> None:
    first = [process(10, 0.1), process(11, 0.2, parent=10), process(12, 5.0, parent=11)]
    sums = summed(first, [process(10, 0.1, reaped_s=5.2)])
    assert abs(sums.cpu_s() - 5.3) < 1e-9


def test_what_an_orphan_used_stays_counted() -> None:
    first = [process(10, 0.1), process(12, 5.0, parent=1)]
    assert abs(summed(first, [process(10, 0.1)]).cpu_s() - 5.1) < 1e-9


def test_a_process_number_that_is_given_again_is_another_process() -> None:
    again = process(11, 0.1, parent=10)._replace(start=900)
    sums = summed([process(10, 0.0), process(11, 3.0, parent=10)], [process(10, 0.0, reaped_s=3.0), again])
    assert abs(sums.cpu_s() - 3.1) < 1e-9


def test_the_main_process_holds_the_gpu_else_is_the_busiest_python() -> None:
    look = [process(10, 0.1, name="bash"), process(11, 2.0, parent=10, python=True), process(12, 9.0, parent=11, python=True, worker=1),
            process(13, 20.0, parent=10, name="ffmpeg")]  # fmt: skip
    sums = summed(look, look)
    assert (sums.main() or (0,))[0] == 11
    sums = TreeSum(0.0)
    sums.take(1.0, look, holders={13})
    sums.take(2.0, look)
    assert (sums.main() or (0,))[0] == 13, "seen with the GPU once"
    look = [process(10, 0.1, name="bash"), process(13, 20.0, parent=10, name="trainer")]
    assert (summed(look, look).main() or (0,))[0] == 13


def test_a_main_process_that_has_ended_is_still_the_main_process() -> None:
    first = [process(10, 0.1, name="bash"), process(11, 7.0, parent=10, python=True)]
    later = [process(10, 0.2, name="bash", reaped_s=7.0)]
    main = summed(first, *[later] * 40).main()
    assert main is not None and (main.pid, main.used_s) == (11, 7.0)


def test_workers_and_their_children() -> None:
    look = [process(10, 1.0, python=True), process(11, 2.0, parent=10, python=True, worker=1), process(12, 3.0, parent=10, python=True, worker=1),
            process(13, 0.5, parent=12, worker=2)]  # fmt: skip
    sums = summed(look, look[:2])
    assert (sums.workers_max, sums.workers_s(), sums.processes_max) == (2, 5.5, 4)


def test_what_workers_used_after_the_last_look_is_theirs() -> None:
    first = [process(10, 1.0, python=True), *(process(pid, 2.0, parent=10, python=True, worker=1) for pid in (11, 12))]
    assert abs(summed(first, [process(10, 1.0, python=True, reaped_s=4.7)]).workers_s() - 4.7) < 1e-9
    first[2] = process(12, 2.0, parent=10, name="ffmpeg")
    assert summed(first, [process(10, 1.0, python=True, reaped_s=4.7)]).workers_s() == 2.0, "whose it is cannot be told"


def test_a_rank_that_holds_a_gpu_is_no_worker_however_it_was_started() -> None:
    sums = TreeSum(0.0)
    sums.take(1.0, [process(10, 0.1, python=True), process(11, 4.0, parent=10, python=True, worker=1)], holders={11})
    assert (sums.workers_max, sums.workers_s()) == (0, 0.0)
    assert (sums.main() or (0,))[0] == 11


def test_waiting_for_a_disk_is_a_share_of_the_main_threads_time() -> None:
    main = summed(*([process(10, 0.1, state=state)] for state in "DDSD")).main()
    assert main is not None and (main.blocked_s, main.observed_s) == (3.0, 4.0)


def test_threads_that_end_are_not_forgotten_and_do_not_pile_up() -> None:
    looks = [[process(10, float(n), threads={10: 0.0, 1000 + n: 1.0})] for n in range(1, 200)]
    sums = summed(*looks)
    busiest = sums.busiest_thread()
    assert busiest is not None and busiest[1].startswith("t1")
    assert sums.saturated_share() == 1.0, "one thread after the other, each a whole core"


def test_many_processes_that_come_and_go_leave_a_bounded_memory() -> None:
    import pickle

    def size(rounds: int) -> int:
        sums = TreeSum(0.0)
        for n in range(rounds):
            sums.take(
                n + 1.0,
                [
                    process(10, 0.0, reaped_s=n * 0.5),
                    process(1000 + n, 0.5, parent=10, threads={1000 + n: 0.3, 5000 + n: 0.2}),
                ],
            )
        return len(pickle.dumps(sums.__dict__, protocol=4))

    assert size(2000) < 1.5 * size(100)


def test_threads_not_worth_reading_keep_what_was_read() -> None:
    idle = process(10, 1.0)._replace(threads=None)
    sums = summed([process(10, 1.0)], idle_list := [idle], idle_list, idle_list)
    assert (sums.busiest_thread() or (0, ""))[0] == 0.25


def test_one_look_alone_says_nothing_about_saturation() -> None:
    assert summed([process(10, 0.0)]).saturated_share() is None
    assert TreeSum(0.0).main() is None and TreeSum(0.0).busiest_thread() is None


def test_workers_that_wait_for_a_disk() -> None:
    def look(states: str) -> list[Seen]:
        main = process(10, 1.0, python=True)
        return [main, *(process(11 + n, 0.1, parent=10, worker=1, state=state) for n, state in enumerate(states))]

    assert summed(look("DD"), look("DS"), look("DS"), look("SS")).workers_blocked_share() == 0.5
    assert summed(look("")).workers_blocked_share() is None
