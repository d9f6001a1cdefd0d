"""The database was restored from a backup: what was sent after the backup was made has no rows.

So the provider's list shows runs that belong to none of our calls, and a fallback may already have
been used for a call that failed.
"""

from datetime import datetime

from django.conf import settings
from django.db.models import Q

from providers.calls.models import Call, Restore


def last_restore_at() -> datetime | None:
    return Restore.objects.order_by("-restored_at").values_list("restored_at", flat=True).first()


def is_before_restore(call: Call) -> bool:
    """We do not know what happened to it after the backup: it may have been sent elsewhere.
    Compared by the row's number, since another machine's clock may be behind."""
    return Restore.objects.filter(last_call__gte=call.pk).exists()


def hides_runs(call: Call, now: datetime) -> bool:
    """Runs without rows may be listed with those of this call, so no key counts as exclusive:
    for LOST_RETENTION, and for good about calls that are older than the restore."""
    since = min(call.sent_at, now - settings.LOST_RETENTION)
    hiding = Q(restored_at__gte=since) | Q(last_call__gte=call.pk)
    return Restore.objects.filter(hiding).exists()
