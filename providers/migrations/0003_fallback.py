import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("providers", "0002_finished_of_model")]

    operations = [
        migrations.AddField(
            model_name="call",
            name="after",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="providers.call",
                verbose_name="fallback after",
            ),
        ),
        migrations.AddField(
            model_name="call",
            name="after_rule",
            field=models.CharField(
                blank=True, default="", max_length=40, verbose_name="rule that allowed it"
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="call",
            name="again_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="may be asked again"),
        ),
        migrations.AddConstraint(
            model_name="call",
            constraint=models.CheckConstraint(
                condition=models.Q(("after__isnull", True), models.Q(("after_rule", ""), _negated=True), _connector="OR"),
                name="call_fallback_names_its_rule",
            ),
        ),
        migrations.AddIndex(
            model_name="call",
            index=models.Index(fields=["provider", "sent_at"], name="call_of_a_day"),
        ),
    ]
