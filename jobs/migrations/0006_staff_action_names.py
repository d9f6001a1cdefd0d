from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0005_event_names")]

    operations = [
        migrations.RenameField("staffaction", "deed", "action"),
        migrations.AlterField(
            "staffaction",
            "action",
            models.CharField(
                choices=[
                    ("check", "checked now"),
                    ("give_back", "slot given back"),
                    ("attach", "provider's id attached"),
                    ("grant", "slots granted"),
                    ("revoke", "grant taken back"),
                    ("resume", "set going again"),
                    ("pause", "provider paused"),
                    ("let_in", "provider resumed"),
                    ("delete", "person deleted"),
                    ("deliver", "result delivered"),
                ],
                max_length=20,
                verbose_name="what",
            ),
        ),
    ]
