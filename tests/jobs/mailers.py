"""Processes that send the same mails at the same moment, on the database named by DATABASE_URL, to
the mail server named by EMAIL_HOST and EMAIL_PORT. Prints what each of them got.

Run as `python -m tests.jobs.mailers send`.
"""

import json
import sys
from datetime import UTC, datetime

from tests.quotas.contenders import run_together

# After the line above, which sets Django up.
from django.contrib.auth.models import User  # isort: skip

from jobs.core.models import Job
from jobs.notifications import notices
from quotas import accounts
from quotas.models import Account, Plan
from tests import rows

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
JOBS = 12
PROCESSES = 4


def main() -> None:
    user = User.objects.create(username="ana", email="ana@example.org")
    account = accounts.ensure_saved(accounts.account_of_user(user), now=NOW)
    Account.objects.filter(pk=account.pk).update(plan=Plan.objects.get(name="paid"))
    account.refresh_from_db()
    for _ in range(JOBS):
        job = rows.failed(account, NOW)
        Job.objects.filter(pk=job.pk).update(notice_due_at=NOW)
    jobs = list(Job.objects.notice_due(NOW).order_by("pk"))
    json.dump(run_together(*[lambda: send_all(jobs)] * PROCESSES), sys.stdout)


def send_all(jobs: list[Job]) -> dict:
    """Each of them has found every mail due before another was at work."""
    fates = [notices.send(job, NOW) for job in jobs]
    return {
        "found": len(jobs),
        "sent": sum(fate is notices.DeliveryResult.POSTED for fate in fates),
    }


if __name__ == "__main__":
    main()
