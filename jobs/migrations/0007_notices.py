from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("jobs", "0006_stage_of_call")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="notice_due_at",
            field=models.DateTimeField(
                blank=True, null=True, verbose_name="mail wished, due from"
            ),
        ),
        migrations.AddField(
            model_name="job",
            name="notice_tries",
            field=models.PositiveSmallIntegerField(default=0, verbose_name="tries to mail"),
        ),
        migrations.AddField(
            model_name="job",
            name="notified_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="mailed"),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                fields=["notice_due_at"],
                condition=Q(notice_due_at__isnull=False),
                name="job_notice_due",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=Q(notified_at__isnull=True) | Q(notice_due_at__isnull=True),
                name="job_notified_once",
            ),
        ),
    ]
