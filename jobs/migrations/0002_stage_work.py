from django.db import migrations, models
from django.db.models import Q


def name_works(apps, schema_editor):
    """The work of a picture is that of its job; a `save` has a call instead of a work."""
    Stage = apps.get_model("jobs", "Stage")
    batch = []
    for stage in Stage.objects.filter(name="generate", work=None).only("pk", "job_id").iterator():
        stage.work = f"image:{stage.job_id}"
        batch.append(stage)
        if len(batch) == 1000:
            Stage.objects.bulk_update(batch, ["work"])
            batch = []
    Stage.objects.bulk_update(batch, ["work"])


class Migration(migrations.Migration):
    # Rows written and a table altered go together in one transaction on PostgreSQL too: no column
    # of a foreign key is written.
    dependencies = [("jobs", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="stage",
            name="work",
            field=models.CharField(blank=True, max_length=100, null=True, verbose_name="work"),
        ),
        migrations.RunPython(name_works, migrations.RunPython.noop),
        migrations.RemoveConstraint(model_name="stage", name="stage_once_a_job"),
        migrations.AddConstraint(
            model_name="stage",
            constraint=models.UniqueConstraint(
                condition=Q(("call__isnull", True), ("work__isnull", True)),
                fields=("job", "name"),
                name="stage_once_a_job",
            ),
        ),
        migrations.AddConstraint(
            model_name="stage",
            constraint=models.UniqueConstraint(
                condition=Q(("work__isnull", False)), fields=("work",), name="stage_once_a_work"
            ),
        ),
        migrations.AddConstraint(
            model_name="stage",
            constraint=models.CheckConstraint(
                condition=Q(("work__isnull", True), Q(("work", ""), _negated=True), _connector="OR"),
                name="stage_work_is_named",
            ),
        ),
    ]
