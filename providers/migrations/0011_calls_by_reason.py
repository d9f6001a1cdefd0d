from django.db import migrations, models


class Migration(migrations.Migration):
    """Staff's list of calls by their reason, of a million too."""

    dependencies = [("providers", "0010_call_days")]

    operations = [
        migrations.AddIndex(
            model_name="call",
            index=models.Index(fields=["why", "-id"], name="call_by_reason"),
        ),
    ]
