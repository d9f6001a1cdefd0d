import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0003_unwanted_at")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="retry_of",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="retries",
                to="jobs.job",
            ),
        ),
        migrations.AddField(
            model_name="job",
            name="try_number",
            field=models.PositiveSmallIntegerField(default=1, verbose_name="try"),
        ),
    ]
