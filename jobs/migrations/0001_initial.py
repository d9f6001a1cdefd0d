import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('jobs', '0001_jobs'),
        ('jobs', '0002_newest_jobs'),
        ('jobs', '0003_unwanted_at'),
        ('jobs', '0004_retries'),
        ('jobs', '0005_result_deleted_at'),
        ('jobs', '0006_stage_of_call'),
        ('jobs', '0007_notices'),
        ('jobs', '0008_staff_actions'),
        ('jobs', '0009_ended_jobs'),
        ('jobs', '0010_view_dashboard'),
        ('jobs', '0011_resume_is_a_decision'),
        ('jobs', '0012_account_of_job'),
        ('jobs', '0013_mailed_jobs'),
        ('jobs', '0014_pausing_is_a_decision'),
        ('jobs', '0015_removed_texts'),
        ('jobs', '0016_unread_results'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('providers', '0001_initial'),
        ('quotas', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Heartbeat',
            fields=[
                ('name', models.CharField(max_length=20, primary_key=True, serialize=False)),
                ('asked_at', models.DateTimeField(blank=True, null=True)),
                ('beat_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'permissions': [('view_dashboard', 'Can view the dashboard')],
            },
        ),
        migrations.CreateModel(
            name='Lease',
            fields=[
                ('name', models.CharField(max_length=20, primary_key=True, serialize=False)),
                ('token', models.UUIDField()),
                ('holder', models.CharField(max_length=120)),
                ('until', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=20, verbose_name='kind')),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Generating'), ('in_doubt', 'Confirming'), ('ready', 'Ready'), ('failed', 'Failed'), ('cancelled', 'Cancelled'), ('not_confirmed', 'Not confirmed')], max_length=15, verbose_name='state')),
                ('reason', models.CharField(blank=True, max_length=20, verbose_name='reason')),
                ('version', models.PositiveIntegerField(default=1, verbose_name='version')),
                ('prompt', models.TextField(blank=True, verbose_name='prompt')),
                ('params', models.JSONField(blank=True, default=dict, verbose_name='parameters')),
                ('form_key', models.CharField(max_length=64)),
                ('form_digest', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('changed_at', models.DateTimeField(verbose_name='changed')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended')),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='quotas.account')),
                ('attempt', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to='quotas.attempt')),
                ('unwanted_at', models.DateTimeField(blank=True, null=True, verbose_name='nobody waits since')),
                ('retry_of', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='retries', to='jobs.job')),
                ('try_number', models.PositiveSmallIntegerField(default=1, verbose_name='try')),
                ('result_deleted_at', models.DateTimeField(blank=True, null=True, verbose_name='result deleted')),
                ('notice_due_at', models.DateTimeField(blank=True, null=True, verbose_name='mail wished, due from')),
                ('notice_tries', models.PositiveSmallIntegerField(default=0, verbose_name='tries to mail')),
                ('notified_at', models.DateTimeField(blank=True, null=True, verbose_name='mailed')),
                ('texts_removed_at', models.DateTimeField(blank=True, null=True, verbose_name='texts removed')),
            ],
            options={
                'verbose_name': 'job',
                'verbose_name_plural': 'jobs',
                'indexes': [models.Index(fields=['account', '-created_at'], name='job_newest_of_account'), models.Index(condition=models.Q(('state__in', ['queued', 'running', 'in_doubt'])), fields=['account', '-created_at'], name='job_open_of_account'), models.Index(fields=['state', 'created_at'], name='job_by_state'), models.Index(fields=['-created_at'], name='job_newest'), models.Index(condition=models.Q(('notice_due_at__isnull', False)), fields=['notice_due_at'], name='job_notice_due'), models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['ended_at', 'state'], name='job_ended'), models.Index(condition=models.Q(('notified_at__isnull', False)), fields=['notified_at'], name='job_mailed')],
                'constraints': [models.UniqueConstraint(fields=('account', 'form_key', 'form_digest'), name='job_form_once'), models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('state__in', ['queued', 'running', 'in_doubt'])), models.Q(('ended_at__isnull', False), ('state__in', ['ready', 'failed', 'cancelled', 'not_confirmed'])), _connector='OR'), name='job_ended_once_ended'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('reason', ''), _negated=True), _connector='OR'), name='job_failed_says_why'), models.CheckConstraint(condition=models.Q(('notified_at__isnull', True), ('notice_due_at__isnull', True), _connector='OR'), name='job_notified_once')],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=30, verbose_name='what')),
                ('facts', models.JSONField(blank=True, default=dict, verbose_name='facts')),
                ('at', models.DateTimeField(verbose_name='when')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='jobs.job')),
            ],
            options={
                'verbose_name': 'event',
                'verbose_name_plural': 'events',
                'indexes': [models.Index(fields=['job', 'id'], name='event_of_job')],
            },
        ),
        migrations.CreateModel(
            name='Picture',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('position', models.PositiveSmallIntegerField(default=0)),
                ('file', models.CharField(max_length=200, verbose_name='file')),
                ('media_type', models.CharField(max_length=40, verbose_name='type')),
                ('width', models.PositiveIntegerField(verbose_name='width')),
                ('height', models.PositiveIntegerField(verbose_name='height')),
                ('size', models.PositiveIntegerField(verbose_name='bytes')),
                ('sha256', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pictures', to='jobs.job')),
                ('call', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='pictures', to='providers.call')),
            ],
            options={
                'verbose_name': 'picture',
                'verbose_name_plural': 'pictures',
                'constraints': [models.UniqueConstraint(fields=('job', 'position'), name='picture_once_a_position')],
            },
        ),
        migrations.CreateModel(
            name='Stage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=20, verbose_name='name')),
                ('due_at', models.DateTimeField(blank=True, null=True, verbose_name='due')),
                ('woken_at', models.DateTimeField(blank=True, null=True, verbose_name='put in the queue')),
                ('leased_until', models.DateTimeField(blank=True, null=True, verbose_name='leased until')),
                ('lease_token', models.UUIDField(blank=True, null=True)),
                ('lease_holder', models.CharField(blank=True, max_length=120, verbose_name='lease holder')),
                ('tries', models.PositiveIntegerField(default=0, verbose_name='starts without progress')),
                ('waiting_since', models.DateTimeField(blank=True, null=True, verbose_name='waits its turn since')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('done_at', models.DateTimeField(blank=True, null=True, verbose_name='done')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='stages', to='jobs.job')),
                ('call', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to='providers.call')),
            ],
            options={
                'verbose_name': 'stage',
                'verbose_name_plural': 'stages',
                'indexes': [models.Index(condition=models.Q(('done_at__isnull', True)), fields=['due_at'], name='stage_due'), models.Index(condition=models.Q(('done_at__isnull', True)), fields=['leased_until'], name='stage_leased')],
                'constraints': [models.CheckConstraint(condition=models.Q(('done_at__isnull', False), ('due_at__isnull', False), ('leased_until__isnull', False), _connector='OR'), name='stage_goes_on'), models.CheckConstraint(condition=models.Q(models.Q(('lease_token__isnull', True), ('leased_until__isnull', True)), models.Q(('lease_token__isnull', False), ('leased_until__isnull', False)), _connector='OR'), name='stage_lease_whole'), models.UniqueConstraint(condition=models.Q(('call__isnull', True)), fields=('job', 'name'), name='stage_once_a_job'), models.CheckConstraint(condition=models.Q(models.Q(('name', 'save'), _negated=True), ('call__isnull', False), _connector='OR'), name='stage_saves_a_call')],
            },
        ),
        migrations.CreateModel(
            name='StaffAction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('deed', models.CharField(choices=[('check', 'checked now'), ('give_back', 'slot given back'), ('attach', "provider's id attached"), ('grant', 'slots granted'), ('revoke', 'grant taken back'), ('resume', 'set going again'), ('pause', 'provider paused'), ('let_in', 'requests let in again'), ('delete', 'person deleted'), ('deliver', 'result delivered')], max_length=20, verbose_name='what')),
                ('subject', models.CharField(max_length=200, verbose_name='about')),
                ('reason', models.CharField(max_length=500, verbose_name='why')),
                ('facts', models.JSONField(blank=True, default=dict, verbose_name='facts')),
                ('by_name', models.CharField(max_length=150, verbose_name='who')),
                ('at', models.DateTimeField(verbose_name='when')),
                ('account', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='quotas.account')),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('call', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='providers.call')),
                ('job', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='jobs.job')),
                ('gate', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='providers.gate')),
            ],
            options={
                'verbose_name': 'staff action',
                'verbose_name_plural': 'staff actions',
                'permissions': [('check_call', 'Can have a call asked about at once'), ('give_slot_back', 'Can give the slot of a call in doubt back'), ('attach_reference', "Can attach the provider's id to a lost call"), ('resume_job', 'Can set a job going that was set aside'), ('deliver_result', 'Can see and deliver a result that could not be read')],
                'default_permissions': ('view',),
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('reason', ''), _negated=True), models.Q(('by_name', ''), _negated=True)), name='staff_action_says_who_and_why')],
            },
        ),
        migrations.CreateModel(
            name='UnreadResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('answer', 'answer'), ('file', 'file')], max_length=10, verbose_name='kind')),
                ('why', models.CharField(max_length=20, verbose_name='reason')),
                ('file', models.CharField(max_length=200, verbose_name='file')),
                ('size', models.PositiveIntegerField(verbose_name='bytes')),
                ('sha256', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('resolved_at', models.DateTimeField(blank=True, null=True, verbose_name='resolved')),
                ('call', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='unread_results', to='providers.call')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='unread_results', to='jobs.job')),
            ],
            options={
                'verbose_name': 'result that could not be read',
                'verbose_name_plural': 'results that could not be read',
                'indexes': [models.Index(condition=models.Q(('resolved_at__isnull', True)), fields=['created_at'], name='unread_result_open')],
                'constraints': [models.UniqueConstraint(fields=('call', 'sha256'), name='unread_result_once')],
            },
        ),
    ]
