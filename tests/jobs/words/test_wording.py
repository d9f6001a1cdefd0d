"""The tables of words are complete, and say nothing that a page must not."""

import re
import xml.etree.ElementTree as ET
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

import jobs
from jobs.core.events import EventName
from jobs.core.models import Job
from jobs.core.reasons import JobReason
from jobs.core.states import JobState
from jobs.pictures.words import WORDS
from jobs.words import history, wording
from providers.reasons import Reason

NOW = datetime(2026, 11, 12, tzinfo=UTC)
STATIC = Path(jobs.__file__).parent.parent / "static"
ACTIONS = {"cancel", "download", "reuse", "again", "edit", "restart", "stop_waiting", "delete"}


def test_every_state_has_a_word_and_an_icon():
    assert set(wording.LOOKS) == set(JobState)


@pytest.mark.parametrize("look", wording.LOOKS.values(), ids=lambda look: str(look.word))
def test_icon_is_in_the_sprite(look):
    assert f'id="{look.icon}"' in (STATIC / "icons.svg").read_text()


def test_no_two_states_look_alike():
    assert len({look.icon for look in wording.LOOKS.values()}) == len(JobState)


@pytest.mark.parametrize("look", wording.LOOKS.values(), ids=lambda look: str(look.word))
def test_state_has_a_dot_in_the_tab(look):
    dot = ET.parse(STATIC / look.favicon).find("{*}circle")
    assert dot is not None


def test_every_message_has_words():
    assert set(wording.MESSAGES) == set(wording.MessageName)


def test_every_tone_of_a_message_has_its_colours():
    styles = (STATIC / "app.css").read_text()
    tones = {message.tone for message in wording.MESSAGES.values()}
    assert tones == {"ready", "failed", "doubt", "neutral"}
    assert all(f'.notice[data-tone="{tone}"]' in styles for tone in tones - {"neutral"})


def test_every_reason_of_a_failure_has_words():
    # What a restore cancelled has an ending of its own.
    assert set(wording.REASONS) == {*Reason, *JobReason} - {JobReason.RESTORED}


def test_every_event_has_words():
    assert set(history.EVENTS) == set(EventName)


def test_reasons_name_no_status_code():
    assert not [reason for reason in wording.REASONS.values() if re.search(r"\d", str(reason.says))]


@pytest.mark.parametrize("state", JobState)
@pytest.mark.parametrize("reason", wording.REASONS)
def test_actions_are_known(state, reason):
    assert set(WORDS.actions_for(Job(state=state, reason=reason))) <= ACTIONS


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.IN_DOUBT])
def test_a_second_try_is_never_offered_while_the_first_may_run(state):
    assert set(WORDS.actions_for(Job(state=state, reason="transport"))) <= {"stop_waiting"}


def test_a_wish_that_was_noted_is_not_offered_again():
    assert WORDS.actions_for(Job(state=JobState.RUNNING, reason="")) == ("stop_waiting",)
    assert WORDS.actions_for(Job(state=JobState.RUNNING, unwanted_at=NOW)) == ()


def test_a_deleted_picture_is_offered_no_more():
    assert WORDS.actions_for(Job(state=JobState.READY, result_deleted_at=NOW)) == ("reuse",)


def test_every_question_belongs_to_an_action():
    offered = {action for look in wording.LOOKS.values() for action in look.actions}
    assert set(wording.QUESTIONS) <= offered


def test_every_action_has_words():
    assert {*wording.ACTIONS, *WORDS.actions} == ACTIONS


def test_every_mark_of_a_step_is_in_the_sprite_or_a_number():
    icons = {mark.icon for mark in wording.MARKS.values()}
    assert len(icons) == len(wording.MARKS)
    assert all(f'id="{icon}"' in (STATIC / "icons.svg").read_text() for icon in icons - {""})


def test_only_what_needs_telling_has_a_headline():
    told = {state for state, look in wording.LOOKS.items() if look.headline}
    assert told == {JobState.IN_DOUBT, JobState.FAILED, JobState.NOT_CONFIRMED}


def test_a_slot_given_back_is_not_told_as_a_picture_that_does_not_exist():
    told = {reason: WORDS.headline("failed", reason) for reason in wording.REASONS}
    assert told.pop("given_back") == "We could not confirm this one"
    assert told.pop("unread") == "Made, but we cannot read it"
    assert set(told.values()) == {"There is no picture"}


def test_refused_prompt_offers_to_edit_it():
    assert WORDS.actions_for(Job(state=JobState.FAILED, reason="content")) == ("edit",)


def test_unknown_reason_reads_as_a_failure_of_the_provider():
    assert WORDS.reason_in_words("new") == WORDS.reason_in_words("provider")


@pytest.mark.parametrize(
    ("least", "most", "says"),
    [
        (4.2, 5.8, "4–6 s"),
        (0.2, 0.6, "1 s"),
        (50, 119, "50–119 s"),
        (50, 121, "1–3 min"),
        (185, 359, "3–6 min"),
        (300, 300, "5 min"),
        (-3, -1, "1 s"),
    ],
)
def test_span_is_rounded_outwards(least, most, says):
    seconds = (timedelta(seconds=least), timedelta(seconds=most))
    assert wording.span_in_words(*seconds) == says


def test_event_speaks_of_its_facts():
    says = WORDS.event_in_words("reserved", {"slot": 3, "day": "2026-11-12"})
    assert says == "Slot 3 of 12 Nov was reserved."


def test_failure_without_a_reason_is_said_plainly():
    assert WORDS.event_in_words("failed", {}) == "This request failed."


def test_set_aside_says_until_when():
    says = WORDS.event_in_words("set_aside", {"until": "2026-11-12T14:03:00+00:00"})
    assert says.endswith("Next try at 14:03 UTC.")


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (-1, "0.0 s"),
        (0.84, "0.8 s"),
        (9.96, "10 s"),
        (59.6, "1 min 0 s"),
        (252, "4 min 12 s"),
        (18_720, "5 h 12 min"),
        (600_000, "6 d 22 h"),
    ],
)
def test_duration(seconds, says):
    assert wording.duration_in_words(timedelta(seconds=seconds)) == says


@pytest.mark.parametrize(
    ("seconds", "says"), [(0.4, "second"), (30, "30 seconds"), (60, "minute"), (600, "10 minutes")]
)
def test_interval(seconds, says):
    assert wording.interval_in_words(timedelta(seconds=seconds)) == says


def test_moment_of_another_day_names_the_day():
    at, now = datetime(2026, 11, 12, 14, 3, tzinfo=UTC), datetime(2026, 11, 13, tzinfo=UTC)
    assert wording.moment_in_words(at, at) == "14:03 UTC"
    assert wording.moment_in_words(at, now) == "12 Nov, 14:03 UTC"


def test_day():
    assert wording.day_in_words(date(2026, 11, 12)) == "12 Nov"


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("A lighthouse at dusk", "A lighthouse at dusk"),
        (
            "A lighthouse at dusk, oil on canvas, with gulls above it, in winter",
            "A lighthouse at dusk, oil on canvas, with gulls above it…",
        ),
        ("A " + "x" * 200, "A " + "x" * 57 + "…"),
        ("x" * 200, "x" * 59 + "…"),
        ("", "Picture"),
    ],
)
def test_title_is_the_first_words(prompt, title):
    assert WORDS.title(Job(prompt=prompt)) == title
