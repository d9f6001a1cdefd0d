from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("providers", "0014_order_within_a_state")]

    operations = [
        migrations.AddField(
            model_name="callday",
            name="given_up_unpriced",
            field=models.PositiveIntegerField(default=0, verbose_name="given up without a price"),
        ),
    ]
