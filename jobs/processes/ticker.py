"""The ticker: polls every due call, wakes due stages and recovers what a dead process held.

One is active by a lease, others stand by. Only the main thread touches the database; the threads
of the pool do nothing but ask providers.
"""

import logging
import threading
import time
import uuid
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from itertools import chain

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Q
from django.utils import timezone

from jobs import poll_answers
from jobs.alerts import watch as alarms
from jobs.alerts.alert_delivery import Posts
from jobs.core import faultpoints, heartbeats, holders, leases, outages, queue, transitions
from jobs.core.events import EventName
from jobs.core.models import Stage
from jobs.database.newest_call import NewestCall
from jobs.engine import advance, clocks, copies, incoming, schedules, webhook_references
from jobs.engine.recovery import Searches
from jobs.engine.webhook_references import ConfirmedRun
from jobs.notifications import notices
from providers.adapters.registry import is_known
from providers.adapters.run_queries import poll_run
from providers.calls import interim
from providers.calls import ledger as calls
from providers.calls.models import Call
from providers.calls.states import CallState
from providers.outcomes import (
    Cause,
    Done,
    Failed,
    NoAnswer,
    NoOutput,
    PollResult,
    Running,
    Unknown,
)
from providers.reasons import Reason, Rule
from providers.routing import poll_pauses

log = logging.getLogger(__name__)

DUTY = "ticker"
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
MOST_A_TICK = 1000
STAND_IN_LASTS = timedelta(seconds=45)
STAND_IN_WAIT = 20
# The first look waits for the processes that were started together with the ticker.
LOOK_AFTER = 60
LOOK_AGAIN = 10
PULL_BACK_EVERY = 10


def longest_duty() -> timedelta:
    """Of a ticker, or of its stand-in."""
    return max(STAND_IN_LASTS, settings.TICKER_LEASE_LASTS)


class Ticker:
    def __init__(self, *, duty_lasts: timedelta | None = None) -> None:
        self.token = uuid.uuid4()
        self.duty_lasts = duty_lasts or settings.TICKER_LEASE_LASTS
        self.pool = ThreadPoolExecutor(settings.POLL_THREADS, thread_name_prefix="poll")
        self.polls: dict[Future[PollResult | ConfirmedRun | None], Call] = {}
        # Accounts that answered 429 while more of their polls were waiting in the pool.
        self.limited: set[str] = set()
        self.searches = Searches(self.pool)
        self.posts = Posts()
        self.signs = copies.Signs()
        self.newest_call = NewestCall()
        self._look_at = time.monotonic() + LOOK_AFTER
        self._ticked_at, self._pull_back_at = LONG_AGO, 0.0
        self._duty_until = self._look_for_dead_at = LONG_AGO

    def run(self, stop: threading.Event) -> None:
        """Tick until `stop` is set; an outage of the database only delays."""
        while not stop.is_set():
            started = time.monotonic()
            try:
                if self.tick():
                    heartbeats.beat("ticker")
            except DatabaseError as exc:
                log.warning("The database %s", outages.describe(exc))
                connection.close()
                stop.wait(1)
            stop.wait(max(0.01, settings.TICK_EVERY - (time.monotonic() - started)))

    def tick(self) -> bool:
        """One round; False when another ticker has the duty."""
        now = timezone.now()
        if not self._has_duty(now):
            return False
        self.follow_clock(now)
        self.collect()
        self.poll_due(now)
        self.free_dead(now)
        wake_due(now)
        notices.wake_due(now)
        heartbeats.ask_cluster(now)
        self.signs.leave_if_due(now)
        self.newest_call.note_if_due()
        self.watch(now)
        return True

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.posts.close()
        leases.drop_duty(DUTY, self.token)

    def poll_due(self, now: datetime) -> None:
        """Give each due call to the pool, the longest due first; those without an id are looked
        for in their provider's list."""
        asked = {call.pk for call in self.polls.values()}
        due = [call for call in Call.objects.due(now)[:MOST_A_TICK] if call.pk not in asked]
        ready = [call for call in due if not _decide_alone(call, now)]
        ready, held = poll_pauses.postpone(ready, now)
        for call in held:
            _mark_overdue_alone(call, now)
        if not ready:
            return
        self.limited.difference_update(call.provider for call in ready)
        calls.claim_polls(ready, now)
        faultpoints.reach("poll_claimed")
        # Read after the claim: a webhook that arrives later than this makes the call due
        # again.
        named = webhook_references.ids_for(ready)
        lost = []
        for call in ready:
            reference = call.reference or named.get(call.pk)
            if reference:
                self.polls[self.pool.submit(self._poll, call, reference)] = call
            if call.is_lost:
                # Also if a webhook named an id, which may be forged.
                lost.append(call)
            elif reference is None:
                calls.stop_polling(call)
        self.searches.start(lost, now)

    def collect(self) -> None:
        """Write down what finished polls said, one row at a time; a bad row stops no other."""
        for future in [future for future in self.polls if future.done()]:
            call = self.polls.pop(future)
            faultpoints.reach("poll_answered")
            try:
                self._follow(call, future.result(), timezone.now())
            except DatabaseError:
                raise
            except Exception:
                log.exception("The answer about call %s could not be taken in", call.pk)
            faultpoints.reach("poll_recorded")
        self.searches.collect()

    def _follow(self, call: Call, answer: PollResult | ConfirmedRun | None, now: datetime) -> None:
        if answer is None:
            return
        polled_at = call.polled_at or now
        poll_answers.follow(call.provider, answer, polled_at=polled_at, now=now)
        follow_poll(call, answer, now)

    def _poll(self, call: Call, reference: str) -> PollResult | ConfirmedRun | None:
        """In a thread of the pool. None: not sent, since the account had enough meanwhile."""
        if call.provider in self.limited:
            return None
        answer = _poll(call, reference)
        if isinstance(answer, NoAnswer) and answer.why.kind == Reason.RATE:
            self.limited.add(call.provider)
        return answer

    def follow_clock(self, now: datetime) -> None:
        """At the start, at once where the clock was set back, and from time to time, since another
        machine's may have been ahead."""
        if now >= self._ticked_at and time.monotonic() < self._pull_back_at:
            self._ticked_at = now
            return
        self._ticked_at, self._pull_back_at = now, time.monotonic() + PULL_BACK_EVERY
        moved = clocks.pull_back(now)
        if moved:
            log.warning("Instants that lay too far ahead were pulled back: %s", moved)

    def watch(self, now: datetime) -> None:
        """The alerts of staff, since the workers that look by schedule may be what is silent."""
        self.posts.collect()
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_AGAIN
            if alarms.look_if_due(now):
                schedules.ensure()
            self.posts.start(now)

    def free_dead(self, now: datetime) -> None:
        """End the leases of processes that died on this machine, without waiting them out."""
        if timedelta() < self._look_for_dead_at - now <= timedelta(seconds=1):
            return
        self._look_for_dead_at = now + timedelta(seconds=1)
        for stage in Stage.objects.leased(now).filter(lease_holder__startswith=holders.here()):
            if holders.is_surely_dead(stage.lease_holder):
                held = Stage.objects.filter(pk=stage.pk, lease_token=stage.lease_token)
                held.update(leased_until=now, woken_at=None)

    def _has_duty(self, now: datetime) -> bool:
        """Renewed when half of it is over, so that most ticks write nothing; and at once where the
        clock was set back, since others then see it end too late."""
        if self.duty_lasts / 2 < self._duty_until - now <= self.duty_lasts:
            return True
        longest = longest_duty()
        if not leases.take_duty(DUTY, self.token, now, self.duty_lasts, longest=longest):
            return False
        self._duty_until = now + self.duty_lasts
        return True


def tick_once_if_alone() -> bool:
    """The backstop by schedule: one whole round, if no ticker has the duty."""
    ticker = Ticker(duty_lasts=STAND_IN_LASTS)
    try:
        if not ticker.tick():
            return False
        asked: list[Future] = [*ticker.polls, *ticker.searches.running]
        wait(asked, timeout=STAND_IN_WAIT)
        ticker.collect()
        return True
    finally:
        ticker.close()


def follow_poll(call: Call, answer: PollResult | ConfirmedRun, now: datetime) -> None:
    """A poll that failed means nothing, with any status: only the run's own end is news."""
    if isinstance(answer, ConfirmedRun):
        webhook_references.follow(call, answer, now)
        return
    if isinstance(answer, Done | Failed):
        incoming.apply(call, answer, now)
        return
    if isinstance(answer, NoOutput):
        incoming.await_output(call, answer, now)
    else:
        calls.note_answer(call, _in_words(answer))
    if isinstance(answer, Running):
        interim.forget_no_output(call)
    if now >= call.deadline_at:
        incoming.mark_overdue(call, now)


def wake_due(now: datetime) -> None:
    """Put due stages into the queue, no more than it has room for; set killers aside."""
    killers = Stage.objects.unfinished().filter(
        leased_until__lte=now, tries__gte=leases.DEATHS_BEFORE_DELAY
    )
    for stage in killers[:MOST_A_TICK]:
        set_aside(stage, now)
    stages = _due_stages(now)
    room = 4 * settings.WORKERS - queue.waiting() if stages else 0
    for stage in stages[: max(room, 0)]:
        # A queue that takes nothing may need seconds to say so: once a tick is enough.
        if _mark_woken(stage, now) and not queue.enqueue(stage.pk):
            return


def _due_stages(now: datetime) -> list[Stage]:
    """Lapsed leases, then what was never put into the queue, then what no worker took out of it.
    Each is read in the order of its index, so that a long queue costs no sorting."""
    most = 4 * settings.WORKERS
    again = now - settings.WAKE_AGAIN_AFTER
    unfinished = Stage.objects.unfinished()
    lapsed = unfinished.filter(
        Q(woken_at=None) | Q(woken_at__lte=again),
        leased_until__lte=now,
        tries__lt=leases.DEATHS_BEFORE_DELAY,
    )
    due = unfinished.filter(due_at__lte=now).order_by("due_at")
    parts = (
        lapsed.order_by("leased_until"),
        due.filter(woken_at=None),
        due.filter(woken_at__lte=again),
    )
    return list(chain.from_iterable(part[:most] for part in parts))[:most]


def set_aside(stage: Stage, now: datetime) -> None:
    """It killed its worker twice: run it again after a growing delay, or fail it if unsent."""
    log.error(
        "Stage %s of job %s killed its worker %s times", stage.name, stage.job_id, stage.tries
    )
    if advance.fail_hopeless(stage):
        return
    until = now + leases.death_delay(stage.tries)
    if leases.postpone(stage, until):
        transitions.record_event(
            stage.job_id, event=EventName.SET_ASIDE, now=now, until=until.isoformat()
        )


def _mark_woken(stage: Stage, now: datetime) -> bool:
    same = Stage.objects.unfinished().filter(pk=stage.pk, woken_at=stage.woken_at)
    return same.filter(lease_token=stage.lease_token).update(woken_at=now) == 1


def _decide_alone(call: Call, now: datetime) -> bool:
    """A row that cannot be decided is left for later and stops no other."""
    try:
        return _decide(call, now)
    except DatabaseError:
        raise
    except Exception:
        log.exception("Call %s could not be decided", call.pk)
        calls.poll_later(call, now)
        return True


def _mark_overdue_alone(call: Call, now: datetime) -> None:
    """The deadline of a call that is not polled now passes all the same."""
    try:
        if now >= call.deadline_at:
            incoming.mark_overdue(call, now)
    except DatabaseError:
        raise
    except Exception:
        log.exception("Call %s could not be marked as overdue", call.pk)


def _decide(call: Call, now: datetime) -> bool:
    """Ends what needs no question; True when there is nothing to ask the provider."""
    if call.state == CallState.SENDING:
        if now < call.answer_by:
            calls.poll_at_answer_deadline(call)
        else:
            incoming.apply(call, Unknown(Cause(Reason.TRANSPORT, rule=Rule.SENDER_LOST)), now)
        return True
    if now >= call.give_up_at:
        if calls.extend_if_unpolled(call, now):
            return False
        if not incoming.give_up(call, now):
            Call.objects.filter(pk=call.pk, state=CallState.GIVEN_UP).update(poll_at=None)
        return True
    return False


def _poll(call: Call, reference: str) -> PollResult | ConfirmedRun:
    if not is_known(call.provider):
        return NoAnswer(Cause(Reason.CONFIG, text="not among the settings"))
    try:
        if call.reference is None:
            return webhook_references.ask(call.provider, reference, call.model)
        return poll_run(call.provider, reference, call.model)
    except Exception as exc:  # the pool: one adapter's fault must not stop the others' polls
        log.exception("Adapter %s raised while polling call %s", call.provider, call.pk)
        return NoAnswer(Cause(Reason.TRANSPORT, text=type(exc).__name__))


def _in_words(answer: Running | NoAnswer) -> str:
    if isinstance(answer, Running):
        return f"running: {answer.status}" if answer.status else "running"
    return f"no answer: {answer.why.code or answer.why.text or answer.why.http}"
