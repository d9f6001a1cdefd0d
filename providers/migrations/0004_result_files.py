"""Results move from a column of the call to rows of their own, their bytes to files."""

import hashlib
import os
import uuid
from pathlib import Path

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from providers.wire.picture_files import decode_base64

BATCH = 100


def move_results(apps, schema_editor):
    """A file is synced before its row; what a migration that failed has written, no row names, and
    housekeeping removes it."""
    calls = apps.get_model("providers", "Call").objects.exclude(result=[]).order_by("pk")
    results = apps.get_model("providers", "CallResult").objects
    batch = list(calls.only("pk", "result")[:BATCH])
    while batch:
        for call in batch:
            rows = [
                results.model(call_id=call.pk, position=position, **_columns_of(call.pk, entry))
                for position, entry in enumerate(call.result)
            ]
            results.bulk_create(rows)
        batch = list(calls.only("pk", "result").filter(pk__gt=batch[-1].pk)[:BATCH])


def _columns_of(call_id, entry):
    url, text = entry.get("url", ""), entry.get("b64", "")
    if url[:5].lower() == "data:":
        url, text = "", text or url
    if not text:
        return {"url": url}
    decoded = decode_base64(text)
    content = text.encode("utf-8", "replace") if decoded is None else decoded
    return {
        "url": url,
        "file": _write(call_id, content),
        "is_encoded": decoded is None,
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _write(call_id, content):
    name = f"results/{call_id % 256:02x}/{call_id}-{uuid.uuid4().hex}.bin"
    path = Path(settings.MEDIA_ROOT) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}")
    with open(draft, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return name


class Migration(migrations.Migration):

    dependencies = [
        ('providers', '0003_eight_decimals'),
    ]

    operations = [
        migrations.CreateModel(
            name='CallResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField()),
                ('url', models.TextField(blank=True)),
                ('file', models.CharField(blank=True, max_length=200)),
                ('is_encoded', models.BooleanField(default=False)),
                ('size', models.PositiveBigIntegerField(default=0)),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('call', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='results', to='providers.call')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('file', ''), _negated=True), fields=['call'], name='call_result_with_file')],
                'constraints': [models.UniqueConstraint(fields=('call', 'position'), name='call_result_position_once'), models.CheckConstraint(condition=models.Q(('file', ''), models.Q(('sha256', ''), _negated=True), _connector='OR'), name='call_result_file_has_a_hash'), models.CheckConstraint(condition=models.Q(('url__istartswith', 'data:'), _negated=True), name='call_result_holds_no_bytes')],
            },
        ),
        migrations.RunPython(move_results, migrations.RunPython.noop),
    ]
