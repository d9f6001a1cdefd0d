from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Calls of a state come in their whole order, and are counted, without their rows."""

    dependencies = [("providers", "0013_given_up_calls_of_a_day")]

    operations = [
        migrations.RemoveIndex(model_name="call", name="call_by_state"),
        migrations.AddIndex(
            model_name="call",
            index=models.Index(
                condition=~Q(state="succeeded"),
                fields=["state", "sent_at", "id"],
                name="call_by_state",
            ),
        ),
    ]
