"""What became of the slots: of each job's own, and how many each account may still take. Pure."""

from collections import Counter
from collections.abc import Iterator

from tests.drill.records import Books, Job, Refusal
from tests.drill.wrongs import Wrong, story


def wrongs_of_slot(job: Job) -> Iterator[Wrong]:
    """The end of a job decides about its slot. An attempt that had ended keeps its end."""
    state = job.attempt.state
    if job.state == "failed" and state != "failed":
        yield Wrong("slot lost", job.id, f"failed, its slot {state}; {story(job)}")
    if job.state == "in_doubt" and state != "pending":
        yield Wrong("slot", job.id, f"in doubt, its slot {state}; {story(job)}")
    if job.state == "ready":
        # A reported failure that was taken back. A failure without a report gives no slot back.
        was_told = "failed" in job.events and any(call.late_outcome for call in job.calls)
        right = "failed" if was_told or "not_fetched" in job.events else "success"
        if state != right:
            yield Wrong("slot", job.id, f"ready, its slot {state} and not {right}; {story(job)}")


def wrongs_of_seats(books: Books) -> Iterator[Wrong]:
    held: dict[tuple[int, str], list[Job]] = {}
    tries: Counter[tuple[int, str]] = Counter()
    allowed: dict[tuple[int, str], int] = {}
    for job in books.jobs:
        key = (job.attempt.account, job.attempt.day)
        allowed[key] = max(allowed.get(key, 0), job.attempt.allowed)
        tries[key] += not job.attempt.cost_nothing
        held.setdefault(key, [])
        if job.attempt.state != "failed":
            held[key].append(job)
    for key, jobs in held.items():
        slots = {job.attempt.slot for job in jobs}
        if len(jobs) > allowed[key] or len(slots) < len(jobs):
            yield Wrong("oversold", str(key), f"{len(jobs)} held of {allowed[key]}")
        left = min(allowed[key] - len(jobs), 3 * allowed[key] + 5 - tries[key])
        got = books.seats.get(key, 0)
        if got != max(left, 0):
            kind = "undersold" if got < left else "oversold"
            yield Wrong(kind, str(key), f"{got} could be reserved, {left} are free")
    for refusal in books.refusals:
        yield from _wrongly_refused(books, refusal, allowed)


def _wrongly_refused(
    books: Books, refusal: Refusal, allowed: dict[tuple[int, str], int]
) -> Iterator[Wrong]:
    """At no moment of the question were all slots held."""
    for key, most in allowed.items():
        if key[0] != refusal.account:
            continue
        held = sum(
            job.attempt.reserved_at <= refusal.ended
            and (job.attempt.state != "failed" or (job.attempt.settled_at or 0) >= refusal.began)
            for job in books.jobs
            if (job.attempt.account, job.attempt.day) == key
        )
        if held >= most:
            return
    yield Wrong("undersold", str(refusal.account), "refused although a slot was free")
