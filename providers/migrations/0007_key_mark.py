from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("providers", "0006_hooks")]

    operations = [
        migrations.AddField(
            model_name="call",
            name="key_mark",
            field=models.CharField(blank=True, editable=False, max_length=16),
        ),
    ]
