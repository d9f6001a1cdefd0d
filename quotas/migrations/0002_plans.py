"""The four plans every site starts with; staff change their numbers in the admin."""

from django.db import migrations

PLANS = {
    "visitor": {"image": 3, "contract": 1},
    "free": {"image": 10, "contract": 3},
    "paid": {"image": 50, "contract": 20},
    "operator": {"image": 1000, "contract": 1000},
}


def make_plans(apps, schema_editor):
    Plan = apps.get_model("quotas", "Plan")
    Allowance = apps.get_model("quotas", "Allowance")
    for name, slots in PLANS.items():
        plan, _ = Plan.objects.get_or_create(name=name)
        for kind, number in slots.items():
            Allowance.objects.get_or_create(plan=plan, kind=kind, defaults={"slots": number})


def drop_unused_plans(apps, schema_editor):
    Plan = apps.get_model("quotas", "Plan")
    Plan.objects.filter(name__in=PLANS, account__isnull=True).delete()


class Migration(migrations.Migration):
    dependencies = [("quotas", "0001_ledger")]
    operations = [migrations.RunPython(make_plans, drop_unused_plans)]
