import secrets

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


# The plans that a new site starts with. Staff change their numbers in the admin.
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


def make_identity(apps, schema_editor):
    apps.get_model("quotas", "Site").objects.get_or_create(
        pk=1, defaults={"name": secrets.token_hex(16)}
    )


class Migration(migrations.Migration):

    replaces = [
        ('quotas', '0001_ledger'),
        ('quotas', '0002_plans'),
        ('quotas', '0003_alerts'),
        ('quotas', '0004_closed_accounts'),
        ('quotas', '0005_alert_kinds'),
        ('quotas', '0006_newcomers'),
        ('quotas', '0007_unmeasured_requests'),
        ('quotas', '0008_grant_once_a_form'),
        ('quotas', '0009_site'),
        ('quotas', '0010_alert_of_other_runs'),
        ('quotas', '0011_former_accounts'),
        ('quotas', '0012_close_former_accounts'),
        ('quotas', '0013_undelivered_results'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Plan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40, unique=True, verbose_name='name')),
            ],
            options={
                'verbose_name': 'plan',
                'verbose_name_plural': 'plans',
            },
        ),
        migrations.CreateModel(
            name='Allowance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('image', 'pictures'), ('contract', 'contracts')], max_length=20, verbose_name='kind')),
                ('slots', models.PositiveIntegerField(verbose_name='slots a day')),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='allowances', to='quotas.plan')),
            ],
            options={
                'verbose_name': 'allowance',
                'verbose_name_plural': 'allowances',
                'constraints': [models.UniqueConstraint(fields=('plan', 'kind'), name='allowance_one_a_kind'), models.CheckConstraint(condition=models.Q(('slots__lte', 100000)), name='allowance_slots_within_reason')],
            },
        ),
        migrations.CreateModel(
            name='Account',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('visitor', models.CharField(blank=True, max_length=64, null=True, unique=True, verbose_name='visitor')),
                ('name', models.CharField(blank=True, max_length=150, null=True, unique=True, verbose_name='name')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('user', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to='quotas.plan')),
                ('closed_at', models.DateTimeField(blank=True, null=True, verbose_name='closed')),
                ('moved_to', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='quotas.account', verbose_name='moved to')),
                ('removal_asked_at', models.DateTimeField(blank=True, null=True, verbose_name='removal asked')),
                ('removed_at', models.DateTimeField(blank=True, null=True, verbose_name='removed')),
            ],
            options={
                'verbose_name': 'account',
                'verbose_name_plural': 'accounts',
                'indexes': [models.Index(condition=models.Q(('closed_at__isnull', False)), fields=['closed_at'], name='account_closed')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('visitor', ''), _negated=True), models.Q(('name', ''), _negated=True)), name='account_identity_not_blank'), models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', True), ('moved_to__isnull', True)), models.Q(('closed_at__isnull', False), ('moved_to__isnull', False), ('user__isnull', True), ('visitor__isnull', False)), models.Q(('closed_at__isnull', False), ('moved_to__isnull', True), ('name__isnull', True), ('user__isnull', True), ('visitor__isnull', True)), _connector='OR'), name='account_closed_has_no_user'), models.CheckConstraint(condition=models.Q(('removal_asked_at__isnull', True), models.Q(('closed_at__isnull', False), ('moved_to__isnull', True)), _connector='OR'), name='account_removal_is_of_a_former_person')],
            },
        ),
        migrations.CreateModel(
            name='Grant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('image', 'pictures'), ('contract', 'contracts')], max_length=20, verbose_name='kind')),
                ('day', models.DateField(verbose_name='UTC day')),
                ('slots', models.PositiveIntegerField(verbose_name='extra slots')),
                ('reason', models.CharField(max_length=200, verbose_name='reason')),
                ('granted_at', models.DateTimeField(verbose_name='granted')),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='quotas.account')),
                ('granted_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('form_key', models.CharField(editable=False, max_length=64, null=True)),
            ],
            options={
                'verbose_name': 'grant',
                'verbose_name_plural': 'grants',
                'indexes': [models.Index(fields=['account', 'kind', 'day'], name='grant_of_a_day')],
                'constraints': [models.CheckConstraint(condition=models.Q(('slots__gte', 1), ('slots__lte', 100000)), name='grant_slots_within_reason'), models.UniqueConstraint(fields=('form_key',), name='grant_form_once')],
            },
        ),
        migrations.CreateModel(
            name='Newcomer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('network', models.CharField(max_length=50, verbose_name='network')),
                ('day', models.DateField(verbose_name='UTC day')),
                ('number', models.PositiveIntegerField(verbose_name='number')),
                ('allowed', models.PositiveIntegerField(verbose_name='allowed')),
                ('taken_at', models.DateTimeField(verbose_name='taken')),
                ('account', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='newcomer', to='quotas.account')),
            ],
            options={
                'verbose_name': 'newcomer',
                'verbose_name_plural': 'newcomers',
                'constraints': [models.UniqueConstraint(fields=('day', 'network', 'number'), name='newcomer_seat_taken_once'), models.CheckConstraint(condition=models.Q(('number__gte', 1), ('number__lte', models.F('allowed'))), name='newcomer_number_within_allowed')],
            },
        ),
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('provider_paused', 'provider refuses key or balance'), ('provider_shut', 'provider paused for long'), ('contradiction', 'late outcome contradicts the record'), ('in_doubt', 'in doubt for more than an hour'), ('overdue', 'deadline missed'), ('spend', 'budget of the day'), ('silent', 'not responding'), ('smoke', 'smoke test failed or stale'), ('allowance', 'metered allowance'), ('other_run', 'answers about other runs than requested'), ('limiter', 'rate limiter lets requests through uncounted'), ('unread', 'paid result is not delivered'), ('storage', 'pictures cannot be stored'), ('copy', 'a copy of this site is running')], max_length=30, verbose_name='kind')),
                ('subject', models.CharField(max_length=200, verbose_name='about')),
                ('words', models.CharField(blank=True, max_length=500, verbose_name='in words')),
                ('opened_at', models.DateTimeField(verbose_name='opened')),
                ('seen_at', models.DateTimeField(verbose_name='last seen')),
                ('closed_at', models.DateTimeField(blank=True, null=True, verbose_name='closed')),
                ('mail_due_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('mail_tries', models.PositiveSmallIntegerField(default=0, editable=False)),
                ('mailed_at', models.DateTimeField(blank=True, null=True, verbose_name='mailed')),
                ('post_due_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('post_tries', models.PositiveSmallIntegerField(default=0, editable=False)),
                ('posted_at', models.DateTimeField(blank=True, null=True, verbose_name='posted')),
            ],
            options={
                'verbose_name': 'alert',
                'verbose_name_plural': 'alerts',
                'constraints': [models.UniqueConstraint(condition=models.Q(('closed_at__isnull', True)), fields=('kind', 'subject'), name='alert_open_once'), models.CheckConstraint(condition=models.Q(('mailed_at__isnull', True), ('mail_due_at__isnull', True), _connector='OR'), name='alert_mailed_once'), models.CheckConstraint(condition=models.Q(('posted_at__isnull', True), ('post_due_at__isnull', True), _connector='OR'), name='alert_posted_once')],
            },
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('image', 'pictures'), ('contract', 'contracts')], max_length=20, verbose_name='kind')),
                ('day', models.DateField(verbose_name='UTC day')),
                ('slot', models.PositiveIntegerField(verbose_name='slot')),
                ('allowed', models.PositiveIntegerField(verbose_name='allowed')),
                ('state', models.CharField(choices=[('pending', 'on hold'), ('success', 'used'), ('failed', 'given back')], max_length=10, verbose_name='state')),
                ('cost_nothing', models.BooleanField(default=False, verbose_name='known to have cost nothing')),
                ('reserved_at', models.DateTimeField(verbose_name='reserved')),
                ('settled_at', models.DateTimeField(blank=True, null=True, verbose_name='settled')),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='quotas.account')),
            ],
            options={
                'verbose_name': 'attempt',
                'verbose_name_plural': 'attempts',
                'indexes': [models.Index(condition=models.Q(('cost_nothing', False)), fields=['account', 'kind', 'day'], name='attempt_may_have_cost'), models.Index(fields=['state', 'day'], name='attempt_by_state')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'failed'), _negated=True), fields=('account', 'kind', 'day', 'slot'), name='attempt_seat_taken_once'), models.CheckConstraint(condition=models.Q(('slot__gte', 1), ('slot__lte', models.F('allowed'))), name='attempt_slot_within_allowed'), models.CheckConstraint(condition=models.Q(models.Q(('settled_at__isnull', True), ('state', 'pending')), models.Q(('settled_at__isnull', False), ('state__in', ['success', 'failed'])), _connector='OR'), name='attempt_settled_once_ended'), models.CheckConstraint(condition=models.Q(('cost_nothing', False), ('state', 'failed'), _connector='OR'), name='attempt_cost_nothing_only_if_failed')],
            },
        ),
        migrations.CreateModel(
            name='Unmeasured',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(verbose_name='UTC day')),
                ('why', models.CharField(choices=[('raises', 'the counter store fails'), ('hangs', 'the counter store does not reply in time'), ('lies', 'the counter store returns impossible values'), ('full', 'more clients at once than the in-memory counter holds'), ('fault', 'a rule or the limiter itself is broken'), ('no_address', 'no client address from a trusted proxy (check TRUSTED_PROXIES)')], max_length=20, verbose_name='why')),
                ('requests', models.PositiveBigIntegerField(verbose_name='requests')),
                ('last_at', models.DateTimeField(verbose_name='last')),
            ],
            options={
                'verbose_name': 'unmeasured requests of a day',
                'verbose_name_plural': 'unmeasured requests',
                'constraints': [models.UniqueConstraint(fields=('day', 'why'), name='unmeasured_one_a_day')],
            },
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
        migrations.RunPython(make_plans, migrations.RunPython.noop),
        migrations.RunPython(make_identity, migrations.RunPython.noop),
    ]
