"""Processes that look for the same troubles at the same moment and tell of them, on the database
named by DATABASE_URL. Prints what each of them found.

Run as `python -m tests.jobs.lookers look`.
"""

import json
import sys
from datetime import UTC, datetime

from tests.quotas.contenders import run_together

# After the line above, which sets Django up.
from jobs.alerts import alert_delivery, watch  # isort: skip
from quotas.models import Alert, AlertKind

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
TROUBLES = 6
PROCESSES = 4


def main() -> None:
    watch.WATCHES = {AlertKind.SPEND: lambda now: map(watch.Trouble, map(str, range(TROUBLES)))}
    json.dump(run_together(*[look] * PROCESSES), sys.stdout)


def look() -> dict:
    """Without the duty, which would let one of them look."""
    watch.look(NOW)
    alert_delivery.send_due(NOW)
    return {"alerts": Alert.objects.count()}


if __name__ == "__main__":
    main()
