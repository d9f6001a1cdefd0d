"""Calls that came to nothing stay as rows, so the table of their daily sums goes.

A sum cannot become calls again. Days without money are dropped. A database with money in such days
is refused: its totals would silently become smaller.
"""

from django.db import migrations
from django.db.models import Q

MONEY = (
    Q(cost__gt=0) | Q(cost_estimate__gt=0) | Q(possibly_charged__gt=0) | Q(given_up__gt=0)
)


def refuse_days_with_money(apps, schema_editor):
    days = apps.get_model("providers", "CallDay").objects.using(schema_editor.connection.alias)
    with_money = list(days.filter(MONEY).order_by("day", "provider", "model")[:20])
    if with_money:
        listed = "; ".join(
            f"{each.day} {each.provider}:{each.model} cost {each.cost}, estimate"
            f" {each.cost_estimate}, possibly charged {each.possibly_charged} {each.currency}"
            for each in with_money
        )
        raise RuntimeError(
            "providers_callday has costs of old calls, which this version does not add to its"
            f" totals. Write them down, delete these rows and start again: {listed}"
        )


class Migration(migrations.Migration):
    dependencies = [("providers", "0001_initial")]

    operations = [
        migrations.RunPython(refuse_days_with_money, migrations.RunPython.noop),
        migrations.DeleteModel("CallDay"),
    ]
