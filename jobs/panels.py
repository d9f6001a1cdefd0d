"""What the page of a job shows, read once from its rows: for the page and for its stream."""

from collections.abc import Callable, Iterator

from django.utils import timezone

from jobs.core import heartbeats
from jobs.core.models import Job
from jobs.core.states import OPEN
from jobs.kinds import KINDS, kind_of
from jobs.notifications import notices
from jobs.words.quota import Quota, read_quota
from quotas.models import Account
from quotas.models import Kind as QuotaKind


def build_panel(job: Job) -> dict[str, object]:
    kind, now = kind_of(job), timezone.now()
    events = tuple(job.events.order_by("pk"))
    is_open = job.state in OPEN
    return {
        **kind.panel(job, events, now),
        "job": job,
        "is_open": is_open,
        "stands_still": is_open and not heartbeats.site_moves(now),
        "actions": kind.words.actions_for(job),
        "later_try": job.retries.order_by("-created_at").first(),
        "history": [
            (event.at, kind.words.event_in_words(event.name, event.facts, job.reason))
            for event in events
        ],
        "mail": notices.mail_offer(job),
        "elapsed": (job.ended_at or now) - job.created_at,
    }


class Quotas:
    """The slots of one account, of each kind read when a template first needs it."""

    def __init__(self, account: Callable[[], Account]) -> None:
        self._account = account
        self._known: dict[str, Quota] = {}

    def of_kind(self, kind: str) -> Quota:
        if kind not in self._known:
            self._known[kind] = read_quota(self._account(), kind)
        return self._known[kind]

    def __iter__(self) -> Iterator[tuple[str, Quota]]:
        """With the name of the kind; empty where there is only one."""
        for kind in KINDS:
            yield str(QuotaKind(kind).label) if len(KINDS) > 1 else "", self.of_kind(kind)
