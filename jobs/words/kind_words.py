"""What pages and emails call the jobs of one kind and their results."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING

from jobs.core.events import EventName
from jobs.core.models import Job
from jobs.core.states import JobState
from jobs.words import history, wording
from jobs.words.wording import Message, MessageName, Question, ReasonText
from providers.reasons import Reason

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

    Text = StrPromise | str


@dataclass(frozen=True)
class KindWords:
    """A mapping has what differs for this kind; for anything else the shared table of `wording`
    is used."""

    title: Callable[[Job], str]
    mail: "Text"
    """The first line of the email about an end, with `requested` and `state`."""
    mail_reason: "Text"
    """Why the email was sent."""
    actions: "Mapping[str, Text]" = field(default_factory=dict)
    """What the owner may do with a result, beside the shared actions."""
    headlines: "Mapping[str, Text]" = field(default_factory=dict)
    reasons: Mapping[str, ReasonText] = field(default_factory=dict)
    events: "Mapping[EventName, Text]" = field(default_factory=dict)
    questions: Mapping[str, Question] = field(default_factory=dict)
    messages: Mapping[MessageName, Message] = field(default_factory=dict)

    def reason(self, reason: str) -> ReasonText:
        known = {**wording.REASONS, **self.reasons}
        return known.get(reason, known[Reason.PROVIDER])

    def reason_in_words(self, reason: str) -> str:
        return str(self.reason(reason).says)

    def headline(self, state: str, reason: str) -> str:
        """Empty for a state without a headline."""
        may_differ = state in (JobState.FAILED, JobState.IN_DOUBT)
        own = self.reason(reason).headline if may_differ and reason in wording.REASONS else ""
        return str(own or self.headlines.get(state, wording.LOOKS[state].headline))

    def actions_for(self, job: Job) -> tuple[str, ...]:
        """The owner's actions. A failure offers the one that fits its reason. A request is not
        offered twice."""
        offered = wording.LOOKS[job.state].actions
        if job.state == JobState.FAILED:
            offered = (self.reason(job.reason).action,)
        gone = {"stop_waiting"} if job.unwanted_at else set()
        gone |= {"download", "delete"} if job.result_deleted_at else set()
        known = wording.ACTIONS.keys() | self.actions.keys()
        return tuple(name for name in offered if name in known and name not in gone)

    def label(self, action: str) -> str:
        return str(self.actions.get(action) or wording.ACTIONS[action])

    def event_in_words(self, name: str, facts: Mapping[str, object], reason: str = "") -> str:
        """`reason` is the job's; `facts` are those that the event's writer put down."""
        words: dict[str, object] = {**facts, "reason": reason and self.reason_in_words(reason)}
        if "day" in facts:
            words["day"] = wording.day_in_words(date.fromisoformat(str(facts["day"])))
        if "because" in facts:
            words["because"] = history.because_in_words(str(facts["because"]))
        if "until" in facts:
            until = datetime.fromisoformat(str(facts["until"]))
            words["until"] = wording.time_in_words(until)
        event = EventName(name)
        return (str(self.events.get(event, history.EVENTS[event])) % words).strip()

    def question(self, action: str) -> Question:
        return self.questions.get(action) or wording.QUESTIONS[action]

    def message(self, name: MessageName) -> Message:
        return self.messages.get(name) or wording.MESSAGES[name]
