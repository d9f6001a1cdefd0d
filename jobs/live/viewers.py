"""Who looks on by a stream, and who no longer may.

A stream lives for minutes and stands on a session that may end meanwhile, by a ban, a new password
or signing out. The hub's thread asks the rows again half a minute after they were last read, those
whose turn is longest due first, many at once in two queries. A sign-in may close a visitor's
account at any moment, so those are looked at each second.
"""

import asyncio
import uuid
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from jobs.people.session_cache import Standing, in_force, visitors_in_force
from jobs.people.snapshots import millis

# With as many streams as a process may have, all are asked for within the minute.
ASK_AGAIN_AFTER = timedelta(seconds=30)
LOOK_EVERY = timedelta(seconds=1)
MOST_AT_ONCE = 500


@dataclass(eq=False)
class Subscription:
    """One open stream. `woken` is set when there is something to send or to end."""

    job_id: uuid.UUID
    account_id: int
    standing: Standing | None = None
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    replaced: bool = False
    is_out: bool = False

    def put_out(self) -> None:
        self.is_out = True
        self.woken.set()


class Door:
    """Entered and left in the event loop; asked in the hub's thread."""

    def __init__(self) -> None:
        self._inside: set[Subscription] = set()
        self._looked_at = 0

    def enter(self, subscription: Subscription) -> None:
        if subscription.standing:
            self._inside.add(subscription)

    def leave(self, subscription: Subscription) -> None:
        self._inside.discard(subscription)

    def those_out(self, now: datetime) -> list[Subscription]:
        """Whoever must see no more. Asks at most once a second, and only if somebody is due."""
        if 0 <= millis(now) - self._looked_at < _millis(LOOK_EVERY):
            return []
        self._looked_at = millis(now)
        due = self._due(self._looked_at)
        going = in_force({one.session_key for _, one in due if one.session_key}) if due else set()
        going |= visitors_in_force({one.visitor for _, one in due if one.visitor})
        for subscription, standing in due:
            subscription.standing = replace(standing, read_at=self._looked_at)
        return [one for one, at in due if (at.session_key or at.visitor) not in going]

    def _due(self, now: int) -> list[tuple[Subscription, Standing]]:
        """Also whose last look lies in the future: the clock was set back."""
        inside = [(one, one.standing) for one in list(self._inside) if one.standing]
        due = [pair for pair in inside if not 0 <= now - pair[1].read_at < _rest_of(pair[1])]
        return sorted(due, key=lambda pair: pair[1].read_at)[:MOST_AT_ONCE]


def _rest_of(standing: Standing) -> int:
    """A sign-in closes a visitor's account at once, and another person may have signed in."""
    return _millis(LOOK_EVERY if standing.visitor else ASK_AGAIN_AFTER)


def _millis(duration: timedelta) -> int:
    return int(duration.total_seconds() * 1000)
