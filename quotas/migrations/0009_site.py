import secrets

from django.db import migrations, models


def make_identity(apps, schema_editor):
    apps.get_model("quotas", "Site").objects.get_or_create(
        pk=1, defaults={"name": secrets.token_hex(16)}
    )


class Migration(migrations.Migration):

    dependencies = [
        ('quotas', '0008_grant_once_a_form'),
    ]

    operations = [
        migrations.AlterField(
            model_name='alert',
            name='kind',
            field=models.CharField(choices=[('provider_paused', 'provider refuses key or balance'), ('provider_shut', 'provider paused for long'), ('contradiction', 'late news contradicts the end'), ('in_doubt', 'in doubt for long'), ('overdue', 'deadline missed'), ('spend', 'budget of the day'), ('silent', 'no sign of life'), ('smoke', 'smoke test failed or stale'), ('allowance', 'metered allowance'), ('limiter', 'limiter lets requests through unmeasured'), ('copy', 'a copy of this site is running')], max_length=30, verbose_name='kind'),
        ),
        migrations.CreateModel(
            name='Site',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(editable=False, max_length=32)),
                ('sign', models.CharField(blank=True, editable=False, max_length=32)),
                ('next_sign', models.CharField(blank=True, editable=False, max_length=32)),
                ('copy_seen_at', models.DateTimeField(blank=True, editable=False, null=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='site_one_row')],
            },
        ),
        migrations.RunPython(make_identity, migrations.RunPython.noop),
    ]
