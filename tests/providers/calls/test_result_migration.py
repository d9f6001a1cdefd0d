"""Results of a database of before they had rows of their own: the bytes move to files."""

import base64
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from tests.fakes import png

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)
BEFORE, AFTER = ("providers", "0003_eight_decimals"), ("providers", "0005_no_result_column")


@pytest.fixture
def migrate():
    def run(target):
        executor = MigrationExecutor(connection)
        executor.migrate([target])
        return MigrationExecutor(connection).loader.project_state([target]).apps

    yield run
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def test_bytes_move_to_files_and_addresses_to_rows(migrate, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    encoded = base64.b64encode(png()).decode()
    said = [
        {"url": "https://pictures.test/1.png", "b64": ""},
        {"url": "", "b64": encoded},
        {"url": f"data:image/png;base64,{encoded}", "b64": ""},
        {"url": "https://pictures.test/2.png", "b64": "not base64!"},
    ]
    now = timezone.now()
    instants = ("sent_at", "send_by", "answer_by", "deadline_at", "give_up_at", "ended_at")
    old = migrate(BEFORE).get_model("providers", "Call")
    for work, result in {"image:1": said, "image:2": []}.items():
        old.objects.create(
            work=work, provider="polza", model="m", state="succeeded", result=result,
            hook_token=work, **dict.fromkeys(instants, now),
        )  # fmt: skip
    rows = migrate(AFTER).get_model("providers", "CallResult").objects.order_by("position")
    assert [row.call.work for row in rows] == ["image:1"] * 4
    assert [row.url for row in rows] == [said[0]["url"], "", "", said[3]["url"]]
    contents = [row.file and (Path(settings.MEDIA_ROOT) / row.file).read_bytes() for row in rows]
    assert contents == ["", png(), png(), b"not base64!"]
    assert [row.is_encoded for row in rows] == [False, False, False, True]
    assert [row.size for row in rows] == [0, len(png()), len(png()), 11]
