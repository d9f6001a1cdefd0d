from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0002_newest_jobs")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="unwanted_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="nobody waits since"),
        ),
    ]
