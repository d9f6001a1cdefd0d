"""After the clock was set back, nothing waits for longer than it ever waits.

An instant that was written while the clock was ahead is too far ahead once it is right again: work
would rest for hours or years. So every column that something waits for is listed here, with the
longest time ahead that it is ever written. The ticker pulls back what is further ahead.

    a call that was sent later than now ──> looked at now, and for its whole retention from now on;
                                            no list proves anything about it (`Call.key_mark`)
    any other instant ─────────────────────> as far ahead as it may be, or now

Nothing is concluded from such a time: a call is in doubt later than it would have been, never
earlier.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Model, Q, QuerySet
from django_q.conf import Conf
from django_q.models import OrmQ

from jobs.core.leases import CLOCKS_DIFFER
from jobs.core.models import Job, Stage
from jobs.notifications import mailing
from jobs.pictures import saving
from providers.adapters.registry import longest_answer, longest_retention
from providers.calls import ledger as calls
from providers.calls import poll_times
from providers.calls.models import Call, Gate, Restore, SmokeTest
from providers.reasons import Rule
from providers.routing import gates, poll_pauses
from quotas.models import Alert, Site

NOW = timedelta()
AN_HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Wait:
    """Something waits for `column`, which is written at most `longest` ahead."""

    model: type[Model]
    column: str
    longest: Callable[[], timedelta] = lambda: NOW
    rows: Q = field(default_factory=Q)
    is_span: bool = False
    """Pulled back to its whole length, since it protects something; otherwise to now."""

    def too_far(self, now: datetime) -> QuerySet:
        bound = now + self.longest() + CLOCKS_DIFFER
        return self.model._base_manager.filter(self.rows, **{f"{self.column}__gt": bound})

    def pull_back(self, now: datetime) -> int:
        rows = self.too_far(now)
        # A look takes no lock.
        if not rows.exists():
            return 0
        return rows.update(**{self.column: now + self.longest() if self.is_span else now})


UNFINISHED = Q(done_at=None)
PURSUED = Q(poll_at__isnull=False)
# Neither set aside nor waiting for longer than its turn.
QUEUED = Q(name="generate", job__state="queued", tries=0)
# The others rest until their retention ends (`ledger.rest_lost`).
LOOKED_AT_OFTEN = (
    Q(reference__isnull=False) | Q(state="unknown") | Q(state="sending") | Q(rule=Rule.GIVEN_BACK)
)

WAITS = (
    Wait(Stage, "due_at", lambda: max(saving.UNREAD_MOST, settings.CALL_DEADLINE), UNFINISHED),
    Wait(Stage, "due_at", lambda: max(AN_HOUR, settings.CALL_DEADLINE, settings.POOL_WAIT),
         UNFINISHED & Q(name="generate")),
    Wait(Stage, "due_at", lambda: settings.POOL_WAIT, UNFINISHED & QUEUED),
    Wait(Stage, "leased_until", lambda: settings.LEASE_LASTS,
         UNFINISHED & Q(lease_token__isnull=False), is_span=True),
    Wait(Stage, "woken_at", rows=UNFINISHED),
    Wait(Stage, "waiting_since", rows=UNFINISHED),
    Wait(Call, "poll_at", lambda: poll_times.longest_interval(), PURSUED & LOOKED_AT_OFTEN),
    Wait(Call, "answer_by", lambda: longest_answer(), PURSUED, is_span=True),
    Wait(Call, "deadline_at", lambda: settings.CALL_DEADLINE, PURSUED, is_span=True),
    Wait(Call, "poll_at", lambda: max(longest_retention(), settings.LOST_RETENTION),
         PURSUED),
    Wait(Call, "give_up_at", lambda: max(longest_retention(), settings.LOST_RETENTION),
         PURSUED, is_span=True),
    Wait(Call, "give_up_at", lambda: settings.LOST_RETENTION, PURSUED & Q(reference=None),
         is_span=True),
    Wait(Call, "polled_at", rows=PURSUED),
    Wait(Call, "no_output_at", rows=PURSUED),
    Wait(Gate, "paused_until", lambda: max(poll_pauses.LONGEST_PAUSE, settings.ERROR_PAUSE),
         ~Q(why=gates.STAFF)),
    Wait(Gate, "exhausted_until", lambda: gates.LONGEST_EXHAUSTED, ~Q(why=gates.STAFF)),
    Wait(Gate, "polls_paused_until", lambda: poll_pauses.LONGEST_PAUSE),
    Wait(Gate, "since"),
    Wait(Gate, "blocked_since"),
    Wait(Gate, "other_run_at"),
    Wait(SmokeTest, "began_at"),
    Wait(Restore, "restored_at"),
    Wait(Site, "copy_seen_at"),
    Wait(Job, "notice_due_at", lambda: max(mailing.DELAYS)),
    Wait(Alert, "mail_due_at", lambda: max(mailing.DELAYS)),
    Wait(Alert, "post_due_at", lambda: max(mailing.DELAYS)),
    Wait(Alert, "opened_at", rows=Q(closed_at=None)),
    Wait(Session, "expire_date", lambda: timedelta(seconds=settings.SESSION_COOKIE_AGE),
         is_span=True),
    # What a worker has taken rests for as long as it may take.
    Wait(OrmQ, "lock", lambda: timedelta(seconds=Conf.RETRY)),
)  # fmt: skip


def pull_back(now: datetime) -> int:
    """How many instants lay too far ahead."""
    moved = calls.restart_sent_later(now, slack=CLOCKS_DIFFER)
    return moved + sum(wait.pull_back(now) for wait in WAITS)
