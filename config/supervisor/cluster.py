"""django-q2's cluster as one unit: it repairs what it can, and otherwise exits to be restarted.

By itself a damaged cluster keeps running. A worker that is killed while it waits holds the queue's
lock for good, so no task is served. A killed monitor holds the other lock, so no task is
acknowledged. If the parent or the sentinel dies, the other processes continue as orphans.
"""

import multiprocessing
from contextlib import ExitStack
from uuid import uuid4

from django_q import cluster as q2

from config.supervisor import tether

LOOK_EVERY = 0.1
IDLE = -1


def use_fork() -> None:
    """django-q2 passes its queues to forks, and fork is not the default since Python 3.14."""
    if "fork" in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method("fork", force=True)


class Sentinel(q2.Sentinel):
    def spawn_process(self, target, *args):
        tether.set_name(f"q-{target.__name__}")
        try:
            return super().spawn_process(target, *args)
        finally:
            tether.set_name("q-sentinel")

    def reincarnate(self, process) -> None:
        was_killed = process.exitcode is not None and process.exitcode < 0
        if was_killed and process is self.monitor:
            free(self.result_queue._rlock)
        if was_killed and process in self.pool and process.timer.value == IDLE:
            self._replace_waiting_workers()
        else:
            super().reincarnate(process)

    def _replace_waiting_workers(self) -> None:
        """One waiting worker held the lock, and it is unknown whether the dead one did. So all
        waiting workers are replaced. Busy ones hold a request, not the lock, and stay."""
        with ExitStack() as stack:
            # No worker starts or ends a task while its timer is locked.
            for worker in self.pool:
                stack.enter_context(worker.timer.get_lock())
            waiting = [worker for worker in self.pool if worker.timer.value == IDLE]
            for worker in waiting:
                worker.kill()
                worker.join()
                self.pool.remove(worker)
            free(self.task_queue._rlock)
        q2.db.connections.close_all()
        for _ in waiting:
            self.spawn_worker()
        q2.logger.critical("replaced %d waiting workers after a sudden death", len(waiting))


def free(lock) -> None:
    """Call it only when every process that may hold the lock is dead."""
    lock.acquire(block=False)
    lock.release()


class Cluster(q2.Cluster):
    stop_requested = False

    def sig_handler(self, signum, frame) -> None:
        # django-q2 waits for its sentinel in here, and hangs when a second signal comes.
        self.stop_requested = True

    def run(self) -> int:
        """Runs until a stop is requested (0) or the sentinel dies (1)."""
        context = q2.get_mp_context()
        self.stop_event, self.start_event = context.Event(), context.Event()
        self.sentinel = context.Process(
            target=Sentinel,
            name=f"Process-{uuid4().hex}",
            args=(self.stop_event, self.start_event, self.cluster_id),
        )
        self.sentinel.start()
        while not self.stop_requested:
            self.sentinel.join(LOOK_EVERY)
            if not self.sentinel.is_alive():
                return 1
        self.stop_event.set()
        self.sentinel.join()
        return 0
