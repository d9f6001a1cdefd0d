"""Processes that bring the same webhooks at once, on the database named by DATABASE_URL. Prints
which of them each was the first to bring.

Run as `python -m tests.providers.hook_contenders`; see tests/quotas/contenders.py.
"""

import json
import sys

import django

django.setup()

from django.db import connection  # noqa: E402

from providers.calls.models import Call, Hook  # noqa: E402
from providers.webhooks import store as hooks  # noqa: E402
from providers.wire.verifiers import WebhookNotice  # noqa: E402
from tests.providers.call_rows import call_in  # noqa: E402
from tests.quotas.contenders import NOW, run_together  # noqa: E402

PROCESSES = 8
WORKS = 20


def main() -> None:
    ids = [call_in("unknown", NOW, work=f"image:{number}").pk for number in range(WORKS)]
    Call.objects.update(poll_at=Call.objects.get(pk=ids[0]).give_up_at)
    answers = run_together(*[lambda: bring_each(ids) for _ in range(PROCESSES)])
    looked_at = Call.objects.filter(poll_at=NOW).count()
    left = {"calls": ids, "rows": Hook.objects.count(), "looked_at": looked_at}
    json.dump([*answers, left], sys.stdout)


def bring_each(ids: list[int]) -> dict:
    calls = Call.objects.filter(pk__in=ids).order_by("pk")
    new = [call.pk for call in calls if hooks.store(call, WebhookNotice("gen_1"), b"{}", NOW)]
    return {"new": new, "usable": connection.is_usable()}


if __name__ == "__main__":
    main()
