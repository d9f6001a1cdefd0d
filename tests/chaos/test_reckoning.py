"""The reckoning finds each planted discrepancy between the bill and our ledger, and no other."""

from dataclasses import replace

import pytest

from tests.drill.plan import FALLBACK_MODEL
from tests.drill.reckoning import reckon
from tests.drill.records import Attempt, Books, Call, Entry, Job, Refusal, Run

AT = 1_000_000.0
SEAT = Attempt(1, "2026-03-14", 1, 3, "success", False, AT, AT + 5)
CALL = Call(
    id=1,
    work="image:j1",
    model="r0001",
    state="succeeded",
    reference="gen_1",
    hook_token="token",
    why="",
    rule="",
    detail="",
    sent_at=AT,
    answer_by=AT + 5,
    ended_at=AT + 3,
    cost="5.0000",
    late_outcome="",
)
JOB = Job(
    id="j1",
    model="r0001",
    form_key="key",
    state="ready",
    reason="",
    created_at=AT,
    attempt=SEAT,
    calls=(CALL,),
    pictures=(1,),
    shown=("gen_1",),
    events=("reserved", "sent", "accepted", "made", "ready"),
)
RUN = Run("gen_1", "image:j1", "r0001", "ok", AT + 1, 5.0, None)

LOST = replace(CALL, state="unknown", reference=None, ended_at=None, cost=None)
REJECTED = replace(CALL, state="rejected", reference=None, cost="0", rule="own_enqueue_error")
FAILED = replace(CALL, state="failed", cost="0")
FALLBACK = replace(CALL, id=2, model=FALLBACK_MODEL, reference="gen_2")
PENDING = replace(SEAT, state="pending", settled_at=None)
GIVEN_BACK = replace(SEAT, state="failed")
IN_DOUBT = replace(JOB, state="in_doubt", attempt=PENDING, calls=(LOST,), pictures=(), shown=())
NOTHING = replace(JOB, state="failed", reason="provider", attempt=GIVEN_BACK, pictures=(), shown=())
SECOND = replace(RUN, id="gen_2", model=FALLBACK_MODEL, executed_at=AT + 4)
TWIN = replace(RUN, id="gen_9", work="a look-alike of image:j1")


def books(job: Job = JOB, *runs: Run, free: int | None = None, **facts) -> Books:
    left = 3 if job.attempt.state == "failed" else 2
    seats = {(1, "2026-03-14"): left if free is None else free}
    return Books(jobs=(job,), runs=runs or (RUN,), seats=seats, **facts)


def kinds_in(found: Books) -> set[str]:
    return {wrong.kind for wrong in reckon(found).wrongs}


RIGHT = {
    "delivered": books(),
    "failed for nothing": books(
        replace(NOTHING, calls=(FAILED, replace(FALLBACK, state="rejected", reference=None))),
        replace(RUN, fault="fail", charged=0.0, failure_told_at=AT + 2),
    ),
    "a fallback after a failure": books(
        replace(JOB, calls=(FAILED, FALLBACK), pictures=(2,), shown=("gen_2",)),
        replace(RUN, fault="fail", charged=0.0, failure_told_at=AT + 2),
        SECOND,
    ),
    "contradicted": books(
        replace(JOB, calls=(REJECTED, FALLBACK), pictures=(2,), shown=("gen_2",)),
        replace(RUN, fault="json_5xx_executed"),
        SECOND,
    ),
    "in doubt, two look alike": books(IN_DOUBT, replace(RUN, fault="list_two"), TWIN),
    "in doubt at a model of many": books(
        replace(IN_DOUBT, calls=(replace(LOST, model=FALLBACK_MODEL),)),
        replace(RUN, model=FALLBACK_MODEL),
    ),
    "contradicted in vain": books(
        replace(NOTHING, calls=(REJECTED, replace(FALLBACK, state="rejected", reference=None))),
        replace(RUN, fault="json_5xx_executed"),
    ),
    "late after a failure": books(
        replace(
            JOB,
            attempt=GIVEN_BACK,
            calls=(replace(FAILED, late_outcome="succeeded", cost="5"),),
            events=("failed", "made_late", "ready"),
        ),
        replace(RUN, fault="failed_then_completed", failure_told_at=AT + 2),
    ),
    "forged webhooks refused": books(
        JOB,
        replace(RUN, fault="hook_stale"),
        refused=frozenset({("token", "gen_1"), ("token", "gen_9"), ("another", "gen_1")}),
    ),
    "each request has its row": books(asked={"token": "image:j1"}),
    "refused while all was held": replace(
        books(replace(JOB, attempt=replace(SEAT, allowed=1)), free=0),
        refusals=(Refusal(1, AT + 6, AT + 7),),
    ),
}
UNREAD = replace(
    JOB,
    state="in_doubt",
    reason="unread",
    attempt=PENDING,
    pictures=(),
    shown=(),
    events=("made", "unread"),
)
RIGHT["unread, kept for staff"] = books(replace(UNREAD, kept=1), replace(RUN, fault="odd_shape"))
WRONG = {
    "not kept": books(UNREAD, replace(RUN, fault="odd_shape")),
    "stuck": books(replace(JOB, state="running", attempt=PENDING, pictures=(), shown=())),
    "end": books(replace(JOB, state="not_confirmed", attempt=PENDING, pictures=(), shown=())),
    "doubt": books(IN_DOUBT, TWIN, RUN, taken=frozenset({("token", "gen_1")})),
    "lost result": books(IN_DOUBT, RUN),
    "executed twice": books(
        replace(JOB, calls=(LOST, FALLBACK), pictures=(2,), shown=("gen_2",)),
        replace(RUN, fault="drop_after"),
        SECOND,
    ),
    "false failure": books(replace(NOTHING, calls=(REJECTED,))),
    "no fallback": books(
        replace(NOTHING, calls=(REJECTED,)), replace(RUN, id="gen_3", work="image:other")
    ),
    "contradicted": books(
        replace(NOTHING, calls=(REJECTED,)), replace(RUN, fault="json_5xx_executed")
    ),
    "lost order": books(accepted=frozenset({"key", "another"})),
    "delivered twice": books(replace(JOB, pictures=(1, 1), shown=("gen_1", "gen_1"))),
    "wrong picture": books(replace(JOB, calls=(replace(CALL, reference="gen_7"),)), RUN),
    "stray run": books(JOB, RUN, replace(RUN, id="gen_3", work="image:nobody")),
    "run without call": books(JOB, RUN, replace(RUN, id="gen_3", executed_at=AT + 9)),
    "request without call": books(asked={"token": "image:j1", "another": "image:j1"}),
    "webhook refused": books(refused=frozenset({("token", "gen_1")})),
    "cost": books(replace(JOB, calls=(replace(CALL, cost="0.0000"),))),
    "slot lost": books(
        replace(NOTHING, attempt=PENDING, calls=(FAILED, replace(FALLBACK, state="rejected"))),
        replace(RUN, fault="fail", charged=0.0, failure_told_at=AT + 2),
        free=2,
    ),
    "slot": books(replace(JOB, attempt=GIVEN_BACK)),
    "oversold": books(free=3),
    "undersold": books(free=1),
    "audit": books(audit=("call_wall: broken",)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_books_that_are_right_are_found_so(name):
    assert reckon(RIGHT[name]).wrongs == []


@pytest.mark.parametrize("kind", WRONG)
def test_a_planted_discrepancy_is_found(kind):
    assert kind in kinds_in(WRONG[kind])


def test_a_lie_is_followed_by_the_fallback_alone():
    again = replace(CALL, id=2, reference="gen_2")
    lied, second = replace(RUN, fault="json_5xx_executed"), replace(SECOND, model=RUN.model)
    same = books(
        replace(JOB, calls=(REJECTED, again), pictures=(2,), shown=("gen_2",)), lied, second
    )
    assert kinds_in(same) == {"executed twice"}


@pytest.mark.parametrize("fault", ["fail_billed", "no_output", "result_gone"])
def test_a_failure_that_nobody_told_is_false(fault):
    guessed = replace(REJECTED, rule="lost")
    refused = replace(FALLBACK, state="rejected", reference=None)
    failed = replace(NOTHING, calls=(guessed, refused))
    assert kinds_in(books(failed, replace(RUN, fault=fault))) == {"false failure"}


@pytest.mark.parametrize("shown", ["gen_2", ""])
def test_a_picture_shows_the_run_of_its_own_call(shown):
    assert kinds_in(books(replace(JOB, shown=(shown,)))) == {"wrong picture"}


def test_a_result_that_nobody_can_read_is_no_failure():
    failed = replace(UNREAD, state="failed", kept=1, attempt=GIVEN_BACK)
    assert kinds_in(books(failed, replace(RUN, fault="odd_shape"))) == {"not kept"}


def test_what_nobody_read_until_the_retention_ended_gives_the_slot_back():
    over = replace(UNREAD, state="failed", reason="not_fetched", attempt=GIVEN_BACK)
    assert kinds_in(books(over, replace(RUN, fault="odd_shape"))) == set()


def test_what_can_be_read_is_no_doubt_for_staff():
    assert kinds_in(books(replace(UNREAD, kept=1))) == {"doubt", "lost result"}


def test_a_slot_given_back_in_doubt_is_wrong_whatever_comes_later():
    early = replace(JOB, attempt=GIVEN_BACK, events=("unknown", "failed", "made", "ready"))
    assert kinds_in(books(early)) == {"slot"}


def test_a_paid_call_knows_its_cost():
    assert kinds_in(books(replace(JOB, calls=(replace(CALL, cost=None),)))) == {"cost"}


def test_an_order_refused_while_a_slot_was_free_is_undersold():
    assert kinds_in(books(refusals=(Refusal(1, AT + 6, AT + 7),))) == {"undersold"}


def test_an_order_that_nobody_answered_is_stuck():
    assert kinds_in(books(unanswered=1)) == {"stuck"}


def test_an_answer_handed_over_in_peace_is_evidence():
    twins = (replace(RUN, fault="list_two"), TWIN)
    assert kinds_in(books(IN_DOUBT, *twins, answered={"gen_1": AT + 1})) == {
        "doubt",
        "lost result",
    }


def test_an_answer_handed_over_while_somebody_died_is_none():
    twins = (replace(RUN, fault="list_two"), TWIN)
    kill = Entry(AT + 2, AT + 2, "kill", "q-worker")
    assert kinds_in(books(IN_DOUBT, *twins, answered={"gen_1": AT + 1}, troubles=(kill,))) == set()


BROKE_OFF = replace(IN_DOUBT, calls=(replace(LOST, detail="ChunkedEncodingError: x"),))
NAMED = (replace(RUN, fault="header_id"), TWIN)


def test_a_head_that_names_the_run_is_evidence_once_its_body_was_read():
    told = books(BROKE_OFF, *NAMED, named={"gen_1": AT + 1})
    assert kinds_in(told) == {"doubt", "lost result"}


def test_a_head_that_nobody_read_is_none():
    assert kinds_in(books(IN_DOUBT, *NAMED, named={"gen_1": AT + 1})) == set()
    assert kinds_in(books(BROKE_OFF, *NAMED)) == set()


@pytest.mark.parametrize(
    ("store", "found"), [("lock", {"doubt", "lost result"}), ("postgres", set())]
)
def test_a_head_that_could_not_be_kept_is_none(store, found):
    away = Entry(AT, AT + 2, "store", store)
    told = books(BROKE_OFF, *NAMED, named={"gen_1": AT + 1}, troubles=(away,))
    assert kinds_in(told) == found


def test_a_second_run_after_a_failure_that_was_told_is_no_second_payment():
    told = replace(RUN, fault="fail", charged=0.0, failure_told_at=AT + 5)
    twice = books(
        replace(JOB, calls=(FAILED, FALLBACK), pictures=(2,), shown=("gen_2",)), told, SECOND
    )
    assert kinds_in(twice) == {"executed twice"}


def test_whoever_waited_for_a_turn_in_vain_may_have_been_refused():
    waited = replace(GIVEN_BACK, settled_at=AT + 20)
    failed = replace(NOTHING, attempt=waited, calls=(replace(REJECTED, ended_at=AT + 2),))
    assert kinds_in(books(failed, replace(RUN, id="gen_3", work="a look-alike of x"))) == set()


def test_a_lie_that_nobody_heard_is_no_excuse_for_a_second_run():
    guessed = replace(REJECTED, rule="not_executed")
    lied = replace(RUN, fault="json_5xx_executed")
    twice = books(
        replace(JOB, calls=(guessed, FALLBACK), pictures=(2,), shown=("gen_2",)), lied, SECOND
    )
    assert kinds_in(twice) == {"executed twice"}


SILENCE = ((AT, AT + 4),)


@pytest.mark.parametrize(
    ("at", "found"), [(2.0, {"polled in silence"}), (1.0, set()), (5.0, set())]
)
def test_a_poll_in_a_silence_that_was_heard_is_wrong(at, found):
    assert kinds_in(books(silences=SILENCE, polled=(AT + at,))) == found


@pytest.mark.parametrize(
    ("kind", "what", "found"),
    [
        ("kill", "ticker", set()),
        ("point stop", "poll_answered", set()),
        ("store", "lock", set()),
        ("kill", "q-worker", {"polled in silence"}),
        ("store", "media full", {"polled in silence"}),
    ],
)
def test_only_what_hurts_the_ticker_excuses_a_poll_in_a_silence(kind, what, found):
    hurt = Entry(AT + 1, AT + 1, kind, what)
    assert kinds_in(books(silences=SILENCE, polled=(AT + 3,), troubles=(hurt,))) == found


@pytest.mark.parametrize(("times", "found"), [(4, {"fetched in vain"}), (3, set())])
def test_a_file_that_there_is_no_room_for_is_not_fetched_again_and_again(times, found):
    full = Entry(AT, AT + 6, "store", "media full")
    fetched = tuple(("gen_1", AT + 1 + second) for second in range(times))
    assert kinds_in(books(fetched=fetched, troubles=(full,))) == found


def test_what_is_counted():
    vain = reckon(RIGHT["contradicted in vain"]).counts
    assert (vain["lies heard"], vain["contradicted"]) == (1, 0)
    counts = reckon(RIGHT["contradicted"]).counts
    assert (counts["executions"], counts["charges"], counts["contradicted"]) == (2, 2, 1)
    assert (counts["delivered"], counts["delivered expected"]) == (1, 1)
    doubt = reckon(RIGHT["in doubt, two look alike"]).counts
    assert (doubt["in doubt"], doubt["in doubt expected"]) == (1, 1)
    assert doubt["in doubt at a model of many"] == 0
    crowd = reckon(RIGHT["in doubt at a model of many"]).counts
    assert (crowd["in doubt"], crowd["in doubt at a model of many"]) == (1, 1)
