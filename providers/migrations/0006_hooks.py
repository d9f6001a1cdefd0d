import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("providers", "0005_gates")]

    operations = [
        migrations.CreateModel(
            name="Hook",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("provider", models.CharField(max_length=40)),
                ("message_id", models.CharField(max_length=200)),
                ("received_at", models.DateTimeField()),
                ("reference", models.CharField(blank=True, max_length=200)),
                ("is_signed", models.BooleanField()),
                (
                    "call",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="hooks",
                        to="providers.call",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("provider", "message_id"), name="hook_message_once"
                    )
                ],
            },
        ),
    ]
