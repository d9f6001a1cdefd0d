"""What was paid for and could not be shown, kept for staff: files with a row each.

A file is written and synced before its row. Equal content is kept once a call, and no call fills
the disk: what comes beyond MOST_KEPT is not kept.
"""

import hashlib
import logging
import uuid
from datetime import datetime, timedelta

from django.db.models import QuerySet

from jobs.core.models import UnreadResult
from jobs.files import media, storing
from providers.calls.models import Call

log = logging.getLogger(__name__)

MOST_KEPT = 10
KEPT_FOR = timedelta(days=90)
"""After the job's end: the call's cost stays in the ledger."""


def keep(job_id: uuid.UUID, call: Call, kind: str, content: bytes, why: str, now: datetime) -> None:
    """Raises NoRoom."""
    sha256 = hashlib.sha256(content).hexdigest()
    kept = UnreadResult.objects.filter(call=call)
    if kept.filter(sha256=sha256).exists() or kept.filter(kind=kind).count() >= MOST_KEPT:
        return
    name = f"{storing.UNREAD}/{job_id.hex[:2]}/{job_id.hex}-{uuid.uuid4().hex}.bin"
    storing.store(name, content)
    columns = {"job_id": job_id, "kind": kind, "file": name, "size": len(content), "why": why}
    UnreadResult.objects.get_or_create(
        call=call, sha256=sha256, defaults={**columns, "created_at": now}
    )


def keep_answer(job_id: uuid.UUID, call: Call, answer: str, now: datetime) -> None:
    """Raises NoRoom."""
    keep(job_id, call, "answer", answer.encode("utf-8", "replace"), "answer", now)


def find_kept(call: Call) -> QuerySet[UnreadResult]:
    return UnreadResult.objects.filter(call=call).order_by("pk")


def content_of(kept: UnreadResult) -> bytes | None:
    return media.read(kept.file)


def resolve(call: Call, now: datetime) -> None:
    """Staff need not look at it any more; what is kept stays for a while."""
    UnreadResult.objects.filter(call=call, resolved_at=None).update(resolved_at=now)
