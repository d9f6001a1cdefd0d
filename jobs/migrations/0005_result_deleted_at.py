from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0004_retries")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="result_deleted_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="result deleted"),
        ),
    ]
