"""For `test_board_plans`: fills its database with so many rows, asks for the staff's pages, and
prints of each how many queries it took, and how each statement reads the tables that grow:
{"page": {"queries": 4, "reads": {"table": ["how", ...]}}}."""

import json
import re
import sys
from datetime import UTC, datetime

import django

from tests.bench.admin import PAGES, PART

BIG = ("quotas_attempt", "providers_call", "jobs_job")


def main() -> None:
    django.setup()
    from django.contrib.auth import get_user_model
    from django.test import Client

    from tests.bench.fill import fill

    fill(int(sys.argv[1]), datetime.now(UTC))
    client = Client(SERVER_NAME="localhost")
    client.force_login(get_user_model().objects.create_superuser("staff"))
    print(json.dumps({name: seen_of(client, name, path) for name, path in PAGES.items()}))


def seen_of(client, name: str, path: str) -> dict[str, object]:
    from django.db import connection

    asked: list[tuple[str, object]] = []

    def note(execute, sql, params, many, context):
        asked.append((sql, params))
        return execute(sql, params, many, context)

    headers = {"HX-Request": "true"} if name == PART else {}
    with connection.execute_wrapper(note):
        assert client.get(f"/admin/{path}", headers=headers).status_code == 200, path
    reads: dict[str, list[str]] = {}
    for sql, params in asked:
        for table, how in build_steps(sql, params):
            reads.setdefault(table, []).append(how)
    return {"queries": len(asked), "reads": reads}


def build_steps(sql: str, params: object):
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
