"""The viewers of streams, and the check whether each may still see its stream.

A stream lives for minutes. Its session may end earlier, by a ban, a new password or signing out.
The hub's thread checks the rows again 30 seconds after they were last read, most overdue first,
many streams in two queries. A sign-in may close a visitor's account at any moment, so visitors are
checked every second.
"""

import asyncio
import uuid
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from jobs.people.session_cache import SessionStamp, in_force, visitors_in_force
from jobs.people.snapshots import millis

# With the most streams that a process may have, all are checked within the minute.
ASK_AGAIN_AFTER = timedelta(seconds=30)
LOOK_EVERY = timedelta(seconds=1)
MOST_AT_ONCE = 500


@dataclass(eq=False)
class Subscription:
    """One open stream. `woken` is set when there is something to send or to end."""

    job_id: uuid.UUID
    account_id: int
    stamp: SessionStamp | None = None
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    replaced: bool = False
    is_out: bool = False

    def put_out(self) -> None:
        self.is_out = True
        self.woken.set()


class Viewers:
    """Entered and left in the event loop; checked in the hub's thread."""

    def __init__(self) -> None:
        self._inside: set[Subscription] = set()
        self._looked_at = 0

    def enter(self, subscription: Subscription) -> None:
        if subscription.stamp:
            self._inside.add(subscription)

    def leave(self, subscription: Subscription) -> None:
        self._inside.discard(subscription)

    def those_out(self, now: datetime) -> list[Subscription]:
        """Subscriptions to end. Queries at most once a second, and only if one is due."""
        if 0 <= millis(now) - self._looked_at < _millis(LOOK_EVERY):
            return []
        self._looked_at = millis(now)
        due = self._due(self._looked_at)
        going = in_force({one.session_key for _, one in due if one.session_key}) if due else set()
        going |= visitors_in_force({one.visitor for _, one in due if one.visitor})
        for subscription, stamp in due:
            subscription.stamp = replace(stamp, read_at=self._looked_at)
        return [one for one, at in due if (at.session_key or at.visitor) not in going]

    def _due(self, now: int) -> list[tuple[Subscription, SessionStamp]]:
        """Also those last checked in the future: the clock was set back."""
        inside = [(one, one.stamp) for one in list(self._inside) if one.stamp]
        due = [pair for pair in inside if not 0 <= now - pair[1].read_at < _rest_of(pair[1])]
        return sorted(due, key=lambda pair: pair[1].read_at)[:MOST_AT_ONCE]


def _rest_of(stamp: SessionStamp) -> int:
    """A sign-in closes a visitor's account at once, and another person may have signed in."""
    return _millis(LOOK_EVERY if stamp.visitor else ASK_AGAIN_AFTER)


def _millis(duration: timedelta) -> int:
    return int(duration.total_seconds() * 1000)
