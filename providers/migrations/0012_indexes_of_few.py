from django.db import migrations, models
from django.db.models import Q

import providers.models


class Migration(migrations.Migration):
    """A call that succeeds is in no index that is for the others, nor in one twice."""

    dependencies = [("providers", "0011_calls_by_reason")]

    operations = [
        migrations.RemoveIndex(model_name="call", name="call_by_state"),
        migrations.RemoveIndex(model_name="call", name="call_by_reason"),
        migrations.RemoveIndex(model_name="call", name="call_finished_of_model"),
        migrations.AlterField(
            model_name="call",
            name="hook_token",
            field=models.CharField(
                default=providers.models.new_token, editable=False, max_length=43
            ),
        ),
        migrations.AddConstraint(
            model_name="call",
            constraint=models.UniqueConstraint(fields=["hook_token"], name="call_hook_token_once"),
        ),
        migrations.AddIndex(
            model_name="call",
            index=models.Index(
                condition=~Q(state="succeeded"), fields=["state", "sent_at"], name="call_by_state"
            ),
        ),
        migrations.AddIndex(
            model_name="call",
            index=models.Index(
                condition=~Q(why=""), fields=["why", "-id"], name="call_by_reason"
            ),
        ),
        migrations.AddIndex(
            model_name="call",
            index=models.Index(
                condition=Q(state="succeeded"),
                fields=["provider", "model", "-ended_at"],
                name="call_finished_of_model",
            ),
        ),
    ]
