from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("providers", "0001_calls")]

    operations = [
        migrations.AddIndex(
            model_name="call",
            index=models.Index(
                fields=["provider", "model", "state", "-ended_at"], name="call_finished_of_model"
            ),
        ),
    ]
