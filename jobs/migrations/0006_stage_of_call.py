import django.db.models.deletion
from django.db import migrations, models


def give_each_save_its_call(apps, schema_editor):
    Call = apps.get_model("providers", "Call")
    Picture = apps.get_model("jobs", "Picture")
    Stage = apps.get_model("jobs", "Stage")
    for stage in Stage.objects.filter(name="save", call=None).iterator():
        made = Call.objects.filter(work=f"image:{stage.job_id}").filter(
            models.Q(state="succeeded") | models.Q(late_outcome="succeeded")
        )
        call = made.order_by("pk").last()
        Stage.objects.filter(pk=stage.pk).update(call=call)
        Picture.objects.filter(job=stage.job_id).update(call=call)


class Migration(migrations.Migration):
    # On PostgreSQL rows written and a table altered do not go together in one transaction.
    atomic = False
    dependencies = [("jobs", "0005_result_deleted_at"), ("providers", "0004_hook_token")]

    operations = [
        migrations.AddField(
            model_name="stage",
            name="call",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                to="providers.call",
            ),
        ),
        migrations.AddField(
            model_name="picture",
            name="call",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="pictures",
                to="providers.call",
            ),
        ),
        migrations.RunPython(give_each_save_its_call, migrations.RunPython.noop),
        migrations.RemoveConstraint(model_name="stage", name="stage_once_a_job"),
        migrations.AddConstraint(
            model_name="stage",
            constraint=models.UniqueConstraint(
                condition=models.Q(("call__isnull", True)),
                fields=("job", "name"),
                name="stage_once_a_job",
            ),
        ),
        migrations.AddConstraint(
            model_name="stage",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("name", "save"), _negated=True),
                    ("call__isnull", False),
                    _connector="OR",
                ),
                name="stage_saves_a_call",
            ),
        ),
    ]
