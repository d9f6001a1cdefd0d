from django.db import migrations
from django.utils import timezone


def close(apps, schema_editor):
    """Of users who were deleted before: nobody is their owner, and nothing said so."""
    accounts = apps.get_model("quotas", "Account").objects
    accounts.filter(user=None, visitor=None, name=None, closed_at=None).update(
        closed_at=timezone.now()
    )


class Migration(migrations.Migration):
    dependencies = [("quotas", "0011_former_accounts")]

    operations = [migrations.RunPython(close, migrations.RunPython.noop)]
