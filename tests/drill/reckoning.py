"""The sandbox's bill against our ledger: which end each job may have had, by the evidence that
existed, and every way in which the books are not as they must be. Pure.

Evidence of a run: its id is on a call's row; its webhook was accepted by the site; its answer was
delivered whole while nothing was disturbed; the head that names it was delivered, and the row of
the call records that the body broke off; or it is the only run of a model that one call used.
Where there was any, the run's result must be delivered; in doubt is right only without.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from tests.drill.plan import FALLBACK_MODEL, SHARED_MODEL
from tests.drill.records import Books, Call, Job, Run
from tests.drill.scales import SCALED, SKEW
from tests.drill.seats import wrongs_of_seats, wrongs_of_slot
from tests.drill.unasked import silences_heard, wrongs_of_traffic
from tests.drill.wrongs import Wrong, story
from tests.fault_ends import EXPECTED_FAULTS

FAILING = {fault.name for fault in EXPECTED_FAULTS if fault.call == "failed"}
UNFETCHABLE = {fault.name for fault in EXPECTED_FAULTS if fault.reason == "not_fetched"}
UNREADABLE = {"odd_shape", "result_wrong_type"}
CONTRADICTED = "json_5xx_executed"
TAKEN_BACK = "failed_then_completed"
STALE_HOOK = "hook_stale"
SHARED = {SHARED_MODEL, FALLBACK_MODEL}
A_MOMENT = 3.0
# What the site writes of an answer whose body was lost after its head.
BROKE_OFF = "ChunkedEncodingError"


@dataclass
class Reckoning:
    counts: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    wrongs: list[Wrong] = field(default_factory=list)

    def wrong_of(self, kind: str) -> int:
        return sum(wrong.kind == kind for wrong in self.wrongs)


def reckon(books: Books) -> Reckoning:
    found = Reckoning()
    judge = Judge(books)
    for job in books.jobs:
        found.ends[job.state] += 1
        found.counts["delivered expected"] += judge.must_deliver(job) or is_delivered(job)
        found.counts["delivered"] += is_delivered(job)
        found.counts["in doubt expected"] += judge.may_be_in_doubt(job) and not is_delivered(job)
        found.counts["in doubt"] += job.state == "in_doubt"
        found.counts["in doubt at a model of many"] += is_crowded(job)
        found.wrongs += judge.wrongs_of(job)
    found.counts["executions"] = len(judge.runs)
    found.counts["charges"] = sum(run.charged > 0 for run in judge.runs)
    found.counts["contradicted"] = sum(judge.contradictions(job) for job in books.jobs)
    found.counts["lies heard"] = sum(judge.lies_heard(job) for job in books.jobs)
    found.wrongs += judge.wrongs_of_bill()
    found.wrongs += wrongs_of_seats(books)
    found.wrongs += wrongs_of_traffic(books)
    found.counts["silences"] = len(books.silences)
    found.counts["silences judged"] = len(silences_heard(books))
    found.wrongs += [Wrong("audit", "", line) for line in books.audit]
    ordered = {job.form_key for job in books.jobs}
    for form_key in books.accepted - ordered:
        found.wrongs.append(Wrong("lost order", "", f"taken, but of no row: {form_key}"))
    if books.unanswered:
        found.wrongs.append(Wrong("stuck", "", f"{books.unanswered} orders were never answered"))
    return found


def is_delivered(job: Job) -> bool:
    return job.state == "ready" and bool(job.pictures)


def is_crowded(job: Job) -> bool:
    """In doubt about a request for a model that other calls used too: no list can resolve it."""
    live = {call.model for call in job.calls if call.state == "unknown"}
    return job.state == "in_doubt" and bool(live & SHARED)


class Judge:
    def __init__(self, books: Books) -> None:
        self.books = books
        works = {job.work for job in books.jobs}
        # A look-alike is none of our works' runs.
        self.runs = [run for run in books.runs if run.work in works]
        self.strays = [
            run
            for run in books.runs
            if run.work not in works and not run.work.startswith("a look-alike of ")
        ]
        self._of_work: dict[str, list[Run]] = {}
        for run in sorted(self.runs, key=lambda run: run.executed_at):
            self._of_work.setdefault(run.work, []).append(run)
        self._of_model = Counter(run.model for run in books.runs)
        self._call_of_run = {
            call.reference: (job, call)
            for job in books.jobs
            for call in job.calls
            if call.reference
        }

    def runs_of(self, job: Job) -> list[Run]:
        return self._of_work.get(job.work, [])

    def must_deliver(self, job: Job) -> bool:
        return any(
            has_picture(run) and self.is_proven(job, run) and not self.was_taken_as_failed(job, run)
            for run in self.runs_of(job)
        )

    def was_taken_as_failed(self, job: Job, run: Run) -> bool:
        """Reported as failed, or refused with the provider's own error: no further poll follows,
        unless a webhook causes one."""
        was_told = run.fault == TAKEN_BACK or was_refused(job, run)
        return was_told and not self.hook_was_taken(job, run)

    def is_proven(self, job: Job, run: Run) -> bool:
        owner = self._call_of_run.get(run.id)
        if owner:
            return owner[0].id == job.id
        return (
            self.hook_was_taken(job, run)
            or self.was_answered_in_peace(run)
            or self.was_named_in_head(job, run)
            or self.is_unique(job, run)
        )

    def hook_was_taken(self, job: Job, run: Run) -> bool:
        return any((call.hook_token, run.id) in self.books.taken for call in job.calls)

    def was_answered_in_peace(self, run: Run) -> bool:
        at = self.books.answered.get(run.id)
        return at is not None and not any(
            entry.at <= at + A_MOMENT and entry.until >= run.executed_at - A_MOMENT
            for entry in self.books.troubles
        )

    def was_named_in_head(self, job: Job, run: Run) -> bool:
        """The sender lived and began to read the body: it had the head, and a store for its id."""
        at = self.books.named.get(run.id)
        return (
            at is not None
            and any(
                call.model == run.model and call.detail.startswith(BROKE_OFF) for call in job.calls
            )
            and not any(
                entry.kind == "store"
                and entry.what != "lock"
                and entry.at - A_MOMENT <= at <= entry.until + A_MOMENT
                for entry in self.books.troubles
            )
        )

    def is_unique(self, job: Job, run: Run) -> bool:
        """The provider's list can name it: one run of the model, in the time of its only call."""
        calls = [call for call in job.calls if call.model == run.model and call.rule not in NO_RUN]
        return (
            run.model not in SHARED
            and self._of_model[run.model] == 1
            and len(calls) == 1
            and calls[0].state != "rejected"
            and is_near(calls[0], run)
        )

    def may_be_in_doubt(self, job: Job) -> bool:
        """The live call may have run, and nothing can tell; or it has, and staff must read it."""
        if self.unread(job):
            return job.reason == "unread"
        live = [call for call in job.calls if call.state == "unknown"]
        if not live or any(self.is_proven(job, run) for run in self._unnamed(job, live[0])):
            return False
        return live[0].model in SHARED or self._of_model[live[0].model] > 0

    def unread(self, job: Job) -> list[Run]:
        """Runs that a call of the job has ended with, and that have an unreadable result."""
        ended = {call.reference for call in job.calls if call.state == "succeeded"}
        return [run for run in self.runs_of(job) if run.fault in UNREADABLE and run.id in ended]

    def _unnamed(self, job: Job, call: Call) -> list[Run]:
        return [
            run
            for run in self.runs_of(job)
            if run.model == call.model and run.id not in self._call_of_run
        ]

    def lies_heard(self, job: Job) -> int:
        return sum(was_refused(job, run) for run in self.runs_of(job))

    def contradictions(self, job: Job) -> int:
        """Executions that were refused by the provider's own word, and followed by another."""
        runs = self.runs_of(job)
        return sum(was_refused(job, run) for run in runs[:-1])

    def wrongs_of(self, job: Job) -> Iterator[Wrong]:
        if job.state in ("queued", "running"):
            yield Wrong("stuck", job.id, f"{job.state}; {story(job)}")
        if job.state in ("cancelled", "not_confirmed"):
            yield Wrong("end", job.id, f"nobody wished it: {job.state}; {story(job)}")
        if job.state == "in_doubt" and not self.may_be_in_doubt(job):
            yield Wrong("doubt", job.id, f"in doubt although it could be told; {story(job)}")
        if self.must_deliver(job) and not is_delivered(job):
            yield Wrong("lost result", job.id, f"made, but {job.state}; {story(job)}")
        if self.unread(job) and not was_kept(job):
            yield Wrong("not kept", job.id, f"{job.state}, {job.kept} kept; {story(job)}")
        yield from self._executed_twice(job)
        yield from self._lies_without_fallback(job)
        yield from self._failed_without_proof(job)
        yield from self._wrong_pictures(job)
        yield from wrongs_of_slot(job)

    def _executed_twice(self, job: Job) -> Iterator[Wrong]:
        runs = self.runs_of(job)
        for first, second in pairwise(runs):
            told_at = first.failure_told_at
            was_told = told_at is not None and told_at <= second.executed_at
            was_lie = was_refused(job, first) and second.model != first.model
            if not was_told and not was_lie:
                says = f"{second.fault} ran while {first.fault} had not failed; {story(job)}"
                yield Wrong("executed twice", job.id, says)

    def _lies_without_fallback(self, job: Job) -> Iterator[Wrong]:
        """Each false refusal that reached the site is contradicted: the fallback ran, or refused,
        or got no request because a webhook came first or its turn never came."""
        runs = self.runs_of(job)
        asked_in_vain = any(
            call.model == FALLBACK_MODEL and call.state in ("rejected", "unknown")
            for call in job.calls
        )
        for run in runs[-1:]:
            is_excused = asked_in_vain or self.hook_was_taken(job, run) or was_patient(job)
            if was_refused(job, run) and not is_excused:
                yield Wrong("contradicted", job.id, f"refused, and nobody else asked; {story(job)}")

    def _failed_without_proof(self, job: Job) -> Iterator[Wrong]:
        """The provider reports a failure when it is polled, or nothing ran at all."""
        if job.state != "failed":
            return
        ended = {call.reference for call in job.calls if call.state in ("failed", "succeeded")}
        for run in self.runs_of(job):
            was_made = has_picture(run) and run.fault != TAKEN_BACK
            if (was_made or run.id not in ended) and not was_refused(job, run):
                yield Wrong("false failure", job.id, f"of {run.fault} nobody told; {story(job)}")
        calls = job.calls
        asked_all = any(call.model == FALLBACK_MODEL for call in calls)
        if not self.runs_of(job) and not asked_all and not was_patient(job):
            yield Wrong("no fallback", job.id, story(job))

    def _wrong_pictures(self, job: Job) -> Iterator[Wrong]:
        if len(set(job.pictures)) < len(job.pictures):
            yield Wrong("delivered twice", job.id, story(job))
        own = {run.id for run in self.runs_of(job)}
        references = {call.id: call.reference for call in job.calls}
        for call, shown in zip(job.pictures, job.shown, strict=True):
            if references.get(call) not in own:
                yield Wrong("wrong picture", job.id, f"of another's run; {story(job)}")
            elif shown != references[call]:
                yield Wrong("wrong picture", job.id, f"shows {shown or 'no run'}; {story(job)}")

    def wrongs_of_bill(self) -> Iterator[Wrong]:
        for run in self.strays:
            yield Wrong("stray run", run.work, f"{run.model}, {run.fault}: of no job")
        yield from self._requests_without_call()
        yield from self._webhooks_refused()
        for job in self.books.jobs:
            asked = Counter(call.model for call in job.calls)
            for model, times in Counter(run.model for run in self.runs_of(job)).items():
                if times > asked[model]:
                    yield Wrong("run without call", job.id, f"{model}: {times} runs; {story(job)}")
        for run in self.runs:
            owner = self._call_of_run.get(run.id)
            if not owner:
                continue
            job, call = owner
            is_told = call.cost is not None or call.state in ("succeeded", "failed")
            if is_told and not self._cost_is_right(call, run):
                says = f"{run.fault}: charged {run.charged}, we say {call.cost}"
                yield Wrong("cost", job.id, says)

    def _requests_without_call(self) -> Iterator[Wrong]:
        """Whatever became of it: its row was committed before it left."""
        tokens = {call.hook_token for job in self.books.jobs for call in job.calls}
        for token, work in self.books.asked.items():
            if token not in tokens:
                yield Wrong("request without call", work.removeprefix("image:"), "of no row")

    def _webhooks_refused(self) -> Iterator[Wrong]:
        """A forged one names no run of ours, or no call; the rest are the provider's own word."""
        own = {
            (call.hook_token, run.id): (job, run)
            for job in self.books.jobs
            for call in job.calls
            for run in self.runs_of(job)
        }
        for report in self.books.refused & own.keys():
            job, run = own[report]
            if run.fault != STALE_HOOK:
                yield Wrong("webhook refused", job.id, f"{run.fault}; {story(job)}")

    def _cost_is_right(self, call: Call, run: Run) -> bool:
        """What had failed for nothing, or was refused, cost nothing until later news."""
        cost_nothing = call.state == "rejected" or (
            call.state == "failed" and run.fault == TAKEN_BACK
        )
        expected = 0 if cost_nothing and call.late_outcome != "succeeded" else run.charged
        return call.cost is not None and float(call.cost) == expected


NO_RUN = {"never_connected", "send_window_missed", "too_many", "refused"}
# The reason of a job that killed its worker three times before any request.
KILLER = "config"
POOL_WAIT = float(SCALED["POOL_WAIT"])


def waited(job: Job) -> float:
    """How long it had been without a request when it ended."""
    last = max((call.ended_at or 0 for call in job.calls), default=job.created_at)
    return (job.attempt.settled_at or 0) - last


def was_patient(job: Job) -> bool:
    return waited(job) >= POOL_WAIT or job.reason == KILLER


def was_refused(job: Job, run: Run) -> bool:
    """By the provider's own error, which we heard: that it ran all the same was its lie."""
    return run.fault == CONTRADICTED and any(
        call.model == run.model and call.rule == "own_enqueue_error" for call in job.calls
    )


def was_kept(job: Job) -> bool:
    """For staff, in doubt, until the provider's retention is over."""
    if "unread" not in job.events:
        return False
    return (job.state == "in_doubt" and job.kept > 0) or job.reason == "not_fetched"


def has_picture(run: Run) -> bool:
    return run.fault not in (FAILING - {TAKEN_BACK}) | UNFETCHABLE | UNREADABLE


def is_near(call: Call, run: Run) -> bool:
    margin = SKEW.total_seconds()
    return call.sent_at - margin <= run.executed_at <= call.answer_by + margin
