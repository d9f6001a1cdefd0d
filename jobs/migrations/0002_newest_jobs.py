from django.db import migrations, models


class Migration(migrations.Migration):
    """Staff's list of jobs starts with the newest, of a million too."""

    dependencies = [("jobs", "0001_jobs")]

    operations = [
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["-created_at"], name="job_newest"),
        ),
    ]
