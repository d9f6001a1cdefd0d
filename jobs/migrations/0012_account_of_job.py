import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """The index on a job's account alone: `job_newest_of_account` begins with it."""

    dependencies = [("jobs", "0011_resume_is_a_decision")]

    operations = [
        migrations.AlterField(
            model_name="job",
            name="account",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="jobs",
                to="quotas.account",
            ),
        ),
    ]
