import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0007_notices"),
        ("providers", "0007_key_mark"),
        ("quotas", "0004_closed_accounts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="StaffAction",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "deed",
                    models.CharField(
                        choices=[
                            ("check", "checked now"),
                            ("give_back", "slot given back"),
                            ("attach", "provider's id attached"),
                            ("grant", "slots granted"),
                            ("revoke", "grant taken back"),
                        ],
                        max_length=20,
                        verbose_name="what",
                    ),
                ),
                ("subject", models.CharField(max_length=200, verbose_name="about")),
                ("reason", models.CharField(max_length=500, verbose_name="why")),
                ("facts", models.JSONField(blank=True, default=dict, verbose_name="facts")),
                ("by_name", models.CharField(max_length=150, verbose_name="who")),
                ("at", models.DateTimeField(verbose_name="when")),
                (
                    "account",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to="quotas.account",
                    ),
                ),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "call",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to="providers.call",
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to="jobs.job",
                    ),
                ),
            ],
            options={
                "verbose_name": "staff action",
                "verbose_name_plural": "staff actions",
                "permissions": [
                    ("check_call", "Can have a call asked about at once"),
                    ("give_slot_back", "Can give the slot of a call in doubt back"),
                    ("attach_reference", "Can attach the provider's id to a lost call"),
                ],
                "default_permissions": ("view",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("reason", ""), _negated=True),
                            models.Q(("by_name", ""), _negated=True),
                        ),
                        name="staff_action_says_who_and_why",
                    )
                ],
            },
        ),
    ]
