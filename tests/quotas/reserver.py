"""Makes one reservation on the database named by DATABASE_URL. Prints its statements, those that
open and end a transaction included, and the attempt as it was returned and as it is stored."""

import json
import sys
from datetime import UTC, datetime

import django

django.setup()

from django.db import connection  # noqa: E402
from django.forms.models import model_to_dict  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from quotas.accounts import account_named, ensure_saved  # noqa: E402
from quotas.ledger import reserve  # noqa: E402
from quotas.models import Attempt  # noqa: E402

NOW = datetime(2026, 3, 14, 12, 0, 0, 123456, tzinfo=UTC)


def main() -> None:
    account = ensure_saved(account_named("operator"), now=NOW)
    with CaptureQueriesContext(connection) as caught:
        returned = reserve(account=account, kind="image", now=NOW)
    found = {
        "statements": [
            statement.strip()
            for message in caught.captured_queries
            for statement in message["sql"].split(";")
        ],
        "returned": as_text(returned),
        "stored": as_text(Attempt.objects.get()),
    }
    json.dump(found, sys.stdout)


def as_text(attempt: Attempt) -> dict[str, str]:
    fields = model_to_dict(attempt) | {"id": attempt.pk}
    return {name: repr(value) for name, value in fields.items()}


if __name__ == "__main__":
    main()
