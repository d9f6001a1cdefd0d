"""For `test_board_plans`: fills its database, asks for the pages, and prints how each statement
reads the tables that grow: {"page": {"table": ["how", ...]}}."""

import json
import re
from datetime import UTC, datetime

import django

ROWS = 40_000
BIG = ("quotas_attempt", "providers_call", "jobs_job")
PAGES = {
    "board": "/admin/dashboard/",
    "calls by reference": "/admin/providers/call/?q=gen_500",
    "calls by reason": "/admin/providers/call/?why=balance",
    "calls of a provider": "/admin/providers/call/?provider=polza",
    "calls in a state": "/admin/providers/call/?state__exact=rejected",
    "calls in doubt": "/admin/providers/call/?in_doubt=yes",
    "gates": "/admin/providers/gate/",
}


def main() -> None:
    django.setup()
    from django.contrib.auth import get_user_model
    from django.test import Client

    from tests.bench.fill import fill

    fill(ROWS, datetime.now(UTC))
    client = Client(SERVER_NAME="localhost")
    client.force_login(get_user_model().objects.create_superuser("staff"))
    print(json.dumps({name: reads_of(client, path) for name, path in PAGES.items()}))


def reads_of(client, path: str) -> dict[str, list[str]]:
    from django.db import connection

    asked: list[tuple[str, object]] = []

    def note(execute, sql, params, many, context):
        asked.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        assert client.get(path).status_code == 200
    reads: dict[str, list[str]] = {}
    for sql, params in asked:
        for table, how in steps_of(sql, params):
            reads.setdefault(table, []).append(how)
    return reads


def steps_of(sql: str, params: object):
    """The table and the way of each step that reads one of the big ones."""
    from django.db import connection

    named = [table for table in BIG if re.search(rf"\b{table}\b", sql)]
    if not named:
        return
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
            for node in walk(cursor.fetchone()[0][0]["Plan"]):
                if node.get("Relation Name") in named:
                    yield node["Relation Name"], node["Node Type"]
        else:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
            aliases = {"seat": "quotas_attempt"} | {table: table for table in BIG}
            for row in cursor.fetchall():
                step = re.match(r"(SCAN|SEARCH) (\w+)", row[3])
                if step and step[2] in aliases:
                    yield aliases[step[2]], row[3]
                elif row[3].startswith("USE TEMP B-TREE FOR ORDER BY"):
                    yield named[0], "sorted"


def walk(node: dict):
    yield node
    for child in node.get("Plans", []):
        yield from walk(child)


if __name__ == "__main__":
    main()
