from django.db import migrations, models

import providers.models


def give_each_call_its_own(apps, schema_editor):
    Call = apps.get_model("providers", "Call")
    for pk in Call.objects.filter(hook_token=None).values_list("pk", flat=True).iterator():
        Call.objects.filter(pk=pk).update(hook_token=providers.models.new_token())


class Migration(migrations.Migration):
    # On PostgreSQL rows written and a column altered do not go together in one transaction.
    atomic = False
    dependencies = [("providers", "0003_fallback")]

    operations = [
        migrations.AddField(
            model_name="call",
            name="hook_token",
            field=models.CharField(editable=False, max_length=43, null=True),
        ),
        migrations.RunPython(give_each_call_its_own, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="call",
            name="hook_token",
            field=models.CharField(
                default=providers.models.new_token, editable=False, max_length=43, unique=True
            ),
        ),
    ]
