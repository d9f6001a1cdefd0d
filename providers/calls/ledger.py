"""Opening, recording and ending calls. Every change is one UPDATE filtered on the states it may
come from; no row changed means another process was first or the call had ended.

MUST rules: open in a committed transaction of its own before sending; send outside of any
transaction; record the provider's id before anything else.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import DateTimeField, F, Value
from django.db.models.functions import Least

from providers.adapters.registry import (
    Offer,
    estimate_cost,
    find_provider,
    result_retention,
    time_to_answer,
)
from providers.calls import result_files
from providers.calls.models import Call, CallQuerySet, CallResult
from providers.calls.poll_times import next_poll, slow_interval
from providers.calls.states import ENDS, LIVE, SOURCES, WALL, CallState
from providers.outcomes import (
    Accepted,
    Artifact,
    Cause,
    Done,
    Failed,
    Outcome,
    Rejected,
    Unknown,
    storable,
)
from providers.reasons import Reason, Rule

ASKED_FOR = timedelta(minutes=15)
"""How long a call is looked at anew that would not be looked at any more."""

LATE_COLUMNS = ("cost", "reference", "poll_at", "give_up_at")
WEIGHT = {
    CallState.ACCEPTED: 0,
    CallState.REJECTED: 1,
    CallState.FAILED: 1,
    CallState.SUCCEEDED: 2,
}
# What is news about a call that has ended so. An id is none where the run is known to be over.
LATE_NEWS: dict[CallState, frozenset[CallState]] = {
    CallState.SUCCEEDED: frozenset({CallState.FAILED}),
    CallState.FAILED: frozenset({CallState.SUCCEEDED}),
    CallState.REJECTED: frozenset({CallState.ACCEPTED, CallState.FAILED, CallState.SUCCEEDED}),
    CallState.GIVEN_UP: frozenset(WEIGHT),
}


@dataclass(frozen=True)
class Recorded:
    """What the ledger made of a piece of news. `changed`: the call's state is new. `late`: the
    call had ended before, so that only its late columns and its cost were touched."""

    call: Call
    changed: bool
    late: bool = False


def open_call(
    *, work: str, offer: Offer, now: datetime, after: Call | None = None, rule: str = ""
) -> Call | None:
    """The row that must be committed before the request leaves; None when the wall refuses.

    A fallback names the call before it and the rule that allowed it.
    """
    estimate, currency = estimate_cost(offer)
    answer_by = now + time_to_answer(offer.provider)
    try:
        with transaction.atomic():
            return Call.objects.create(
                work=work,
                provider=offer.provider,
                model=offer.model,
                state=CallState.SENDING,
                after=after,
                after_rule=rule,
                key_mark=settings.PROVIDER_ACCOUNTS[offer.provider].key_mark,
                sent_at=now,
                send_by=now + settings.SEND_WITHIN,
                answer_by=answer_by,
                deadline_at=now + settings.CALL_DEADLINE,
                give_up_at=now + settings.LOST_RETENTION,
                poll_at=answer_by,
                cost_estimate=estimate,
                currency=currency or find_provider(offer.provider).caps.currency,
            )
    except IntegrityError:
        if Call.objects.of_work(work).filter(state__in=WALL).exists():
            return None
        raise


def find_live_call(work: str) -> Call | None:
    """The call of this work that is on its way, if any: sending, accepted or unknown."""
    return Call.objects.of_work(work).filter(state__in=LIVE).last()


def record(*, call_id: int, news: Outcome, now: datetime) -> Recorded:
    """Record the outcome of a call. The same outcome twice changes nothing."""
    news = _by_early_word(call_id, news)
    provider = Call.objects.values_list("provider", flat=True).get(pk=call_id)
    state, columns = _columns_of(news, provider, now)
    try:
        with transaction.atomic():
            changed = _move(call_id, state, columns)
    except IntegrityError:
        if not isinstance(news, Accepted):
            raise
        # The id belongs to another call: which of the two the run is of is not known.
        news = Unknown(Cause(Reason.PROVIDER, rule=Rule.REPEATED_ID, text="id of another call"))
        state, columns = _columns_of(news, provider, now)
        changed = _move(call_id, state, columns)
    if changed and state in (CallState.UNKNOWN, CallState.REJECTED):
        # A webhook that came before this answer has named a run: poll it now.
        Call.objects.filter(pk=call_id, hooks__reference__gt="").update(poll_at=now)
    call = Call.objects.get(pk=call_id)
    late = not changed and call.state in ENDS and _note_late(call, news, now)
    if late:
        call.refresh_from_db()
    elif not changed and call.state in ENDS and isinstance(news, Done | Failed):
        Call.objects.filter(pk=call.pk).update(poll_at=None)
    # One that came while the answer was on its way may know more than the answer does.
    newer = Call.objects.filter(pk=call_id, hooks__received_at__gt=F("polled_at"))
    newer.filter(poll_at=None).update(poll_at=now)
    return Recorded(call, changed, late)


def note_early_id(call_id: int, reference: str) -> bool:
    """Keep an id from the first headers of a submit's answer, before its body is read."""
    sending = Call.objects.filter(pk=call_id, state=CallState.SENDING, reference=None)
    try:
        with transaction.atomic():
            return sending.update(reference=reference) == 1
    except IntegrityError:
        return False


def _by_early_word(call_id: int, news: Outcome) -> Outcome:
    """The answer to a submit was lost, or was a server error, although the run had been named
    before: by the headers, and then it can be polled, or by a webhook, and then it is not certain
    to be rejected."""
    server_failed = isinstance(news, Rejected) and (news.why.http or 0) >= 500
    if not (server_failed or isinstance(news, Unknown)):
        return news
    call = Call.objects.filter(pk=call_id, state=CallState.SENDING).first()
    if call and call.reference:
        return Accepted(call.reference)
    if call and isinstance(news, Rejected) and call.hooks.exclude(reference="").exists():
        return Unknown(news.why)
    return news


def give_up(*, call_id: int, now: datetime) -> bool:
    """The end of retention: counted as possibly charged from here on. A call that had ended stays
    as it ended, and is no longer looked at."""
    if _move(
        call_id,
        CallState.GIVEN_UP,
        {"ended_at": now, "poll_at": None, "why": Reason.DEADLINE, "rule": Rule.END_OF_RETENTION},
    ):
        return True
    Call.objects.filter(pk=call_id, state__in=ENDS, give_up_at__lte=now).update(poll_at=None)
    return False


def release_slot(*, call_id: int, now: datetime) -> bool:
    """Staff's decision about a slot, which is no evidence about the run: counted as possibly
    charged, and looked at as before, to the end of retention."""
    return _move(call_id, CallState.GIVEN_UP, {"ended_at": now, "rule": Rule.GIVEN_BACK})


def poll_now(call_ids: Iterable[int], now: datetime) -> None:
    """Make the next look due, of ended calls too: the end of retention waits for it."""
    calls = Call.objects.filter(pk__in=call_ids)
    calls.update(poll_at=now)
    calls.filter(give_up_at__lt=now + ASKED_FOR).update(give_up_at=now + ASKED_FOR)


def claim_polls(calls: list[Call], now: datetime) -> None:
    """Push the next look of each call ahead, spread over its interval, in few statements. One
    that ended since it was read is not touched."""
    for call in calls:
        call.polled_at = now
        call.poll_at = next_poll(call, now)
    looked_at = Call.objects.filter(poll_at__isnull=False)
    looked_at.bulk_update(calls, ["poll_at", "polled_at"], batch_size=200)


def postpone_polls(calls: list[Call]) -> None:
    """Store the `poll_at` of calls that were not polled, except those that ended meanwhile."""
    looked_at = Call.objects.filter(poll_at__isnull=False)
    looked_at.bulk_update(calls, ["poll_at"], batch_size=200)


def extend_if_unpolled(call: Call, now: datetime) -> bool:
    """True for a call whose retention ended without polls, as in a long outage or an old backup: it
    is pursued a little longer, since the provider may still have its result."""
    lately = call.give_up_at - 2 * slow_interval(call, now)
    if call.reference is None or (call.polled_at or call.sent_at) >= lately:
        return False
    call.give_up_at = now + ASKED_FOR
    same = Call.objects.filter(pk=call.pk, poll_at__isnull=False)
    return same.update(give_up_at=call.give_up_at) == 1


def poll_later(call: Call, now: datetime) -> None:
    """Delay a call that cannot be processed now, past its retention too."""
    Call.objects.filter(pk=call.pk).update(poll_at=now + slow_interval(call, now))


def poll_at_answer_deadline(call: Call) -> None:
    """A webhook moved the poll ahead of the answer to the submit: wait for that answer."""
    Call.objects.filter(pk=call.pk, state=CallState.SENDING).update(poll_at=F("answer_by"))


def stop_polling(call: Call) -> None:
    """The call has no id to poll. A webhook that arrived after the claim keeps its own time."""
    claimed = Call.objects.filter(pk=call.pk, reference=None, poll_at=call.poll_at)
    claimed.update(poll_at=F("give_up_at"))


def renew(call: Call, artifacts: Sequence[Artifact], now: datetime) -> list[Artifact]:
    """The newest addresses of a result that was not fetched yet. The earlier ones stay if the
    provider lists nothing now."""
    if artifacts:
        with transaction.atomic():
            Call.objects.filter(pk=call.pk).update(polled_at=now)
            result_files.write_rows(call.pk, artifacts)
    return result_files.read_rows(call)


def note_answer(call: Call, text: str) -> None:
    text = storable(text, 120)
    if text != call.last_answer:
        Call.objects.filter(pk=call.pk).update(last_answer=text)


def restart_sent_later(now: datetime, *, slack: timedelta) -> int:
    """Calls that were sent later than now, by a clock that was ahead: when they were sent is not
    known. They have their whole time from now on, and no list proves anything about them."""
    ahead = Call.objects.filter(poll_at__isnull=False, sent_at__gt=now + slack)
    ids_by_provider: dict[str, list[int]] = {}
    for provider, pk in ahead.values_list("provider", "pk"):
        ids_by_provider.setdefault(provider, []).append(pk)
    for provider, ids in ids_by_provider.items():
        _restart(Call.objects.filter(pk__in=ids), provider, now)
    return sum(map(len, ids_by_provider.values()))


def _restart(calls: CallQuerySet, provider: str, now: datetime) -> None:
    answer_by = now + time_to_answer(provider)
    calls.filter(accepted_at__gt=now).update(accepted_at=now)
    calls.filter(reference=None).update(give_up_at=now + settings.LOST_RETENTION)
    calls.filter(reference__isnull=False).update(give_up_at=now + result_retention(provider))
    calls.filter(state=CallState.SENDING).update(poll_at=answer_by)
    calls.exclude(state=CallState.SENDING).filter(poll_at__gt=now).update(poll_at=now)
    calls.update(
        sent_at=now,
        send_by=now,
        answer_by=answer_by,
        deadline_at=now + settings.CALL_DEADLINE,
        key_mark="",
    )


def clear_texts(works: Collection[str]) -> list[str]:
    """Remove the providers' words and the results from calls that are no longer pursued. Their
    numbers stay. Returns the files of the results, to be removed after the commit."""
    resting = Call.objects.filter(work__in=works, state__in=ENDS, poll_at=None)
    results = CallResult.objects.filter(call__in=resting)
    files = list(results.with_file().values_list("file", flat=True))
    results.delete()
    resting.update(detail="", code="", last_answer="")
    return files


def _move(call_id: int, state: CallState, columns: dict) -> bool:
    if columns.get("cost", 0) is None:
        # An earlier answer may have said it.
        columns = {name: said for name, said in columns.items() if name != "cost"}
    results = columns.pop("results", ())
    sources = Call.objects.filter(pk=call_id, state__in=SOURCES[state])
    if sources.update(state=state, **columns) != 1:
        return False
    if state == CallState.SUCCEEDED:
        result_files.write_rows(call_id, results)
    return True


def _columns_of(news: Outcome, provider: str, now: datetime) -> tuple[CallState, dict]:
    match news:
        case Accepted(reference):
            return CallState.ACCEPTED, {
                "reference": reference,
                "accepted_at": now,
                "poll_at": now + settings.POLL_EVERY,
                "give_up_at": now + result_retention(provider),
            }
        case Done(artifacts, cost):
            return CallState.SUCCEEDED, {
                "ended_at": now,
                "poll_at": None,
                "cost": cost,
                "results": artifacts,
            }
        case Failed(why, cost):
            return CallState.FAILED, {**_ended(why, now), "cost": cost}
        case Rejected(why):
            return CallState.REJECTED, {**_ended(why, now), "cost": 0, "again_at": _again(why, now)}
        case Unknown(why):
            # Without an id the provider's list is searched, where allowed (`providers.recovery`).
            soon = Value(now + settings.POLL_EVERY, output_field=DateTimeField())
            return CallState.UNKNOWN, {**_reason(why), "poll_at": Least(soon, F("give_up_at"))}
    raise TypeError(f"no news: {news!r}")


def _again(why: Cause, now: datetime) -> datetime:
    """When the same provider may be tried again: at once, unless it was busy."""
    if why.kind != Reason.RATE:
        return now
    if why.retry_after is None:
        return now + settings.ERROR_PAUSE
    return now + timedelta(seconds=why.retry_after)


def _ended(why: Cause, now: datetime) -> dict:
    return {"ended_at": now, "poll_at": None, **_reason(why)}


def _reason(why: Cause) -> dict:
    return {
        "why": why.kind,
        "rule": why.rule,
        "http_status": why.http,
        "code": storable(why.code, 80),
        "detail": storable(why.text, 500),
    }


def _note_late(call: Call, news: Outcome, now: datetime) -> bool:
    """News after the end: kept beside the state, which stays. True when it really is news."""
    state, columns = _columns_of(news, call.provider, now)
    if state not in LATE_NEWS[CallState(call.state)] or not _says_more(call.late_outcome, state):
        return False
    kept = {name: columns[name] for name in LATE_COLUMNS if name in columns}
    if columns.get("cost") is None:
        # What ran after all is not free any more because it had been rejected.
        was_rejected = call.state == CallState.REJECTED and not call.late_outcome
        kept["cost"] = None if was_rejected else call.cost
    elif call.state == CallState.SUCCEEDED:
        # The answer may be older than the end: what was paid is not free by it.
        kept["cost"] = max(call.cost or 0, columns["cost"])
    try:
        with transaction.atomic():
            same = Call.objects.filter(pk=call.pk, late_outcome=call.late_outcome)
            is_news = same.update(late_outcome=state, late_at=now, **kept) == 1
            if is_news and state == CallState.SUCCEEDED:
                result_files.write_rows(call.pk, columns["results"])
            return is_news
    except IntegrityError:
        if not isinstance(news, Accepted):
            raise
        return False


def _says_more(late_outcome: str, state: CallState) -> bool:
    """A result outweighs a failure, and both outweigh the news that a run exists."""
    return not late_outcome or WEIGHT[state] > WEIGHT[CallState(late_outcome)]
