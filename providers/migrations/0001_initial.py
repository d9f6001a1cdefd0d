import django.db.models.deletion
import providers.calls.models
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('providers', '0001_calls'),
        ('providers', '0002_finished_of_model'),
        ('providers', '0003_fallback'),
        ('providers', '0004_hook_token'),
        ('providers', '0005_gates'),
        ('providers', '0006_hooks'),
        ('providers', '0007_key_mark'),
        ('providers', '0008_shut_since'),
        ('providers', '0009_smoke_tests'),
        ('providers', '0010_call_days'),
        ('providers', '0011_calls_by_reason'),
        ('providers', '0012_indexes_of_few'),
        ('providers', '0013_given_up_calls_of_a_day'),
        ('providers', '0014_order_within_a_state'),
        ('providers', '0015_given_up_calls_without_a_price'),
        ('providers', '0016_poll_pauses'),
        ('providers', '0017_restores'),
        ('providers', '0018_no_output_at'),
        ('providers', '0019_last_call_of_restore'),
    ]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name='Call',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('work', models.CharField(max_length=100, verbose_name='work')),
                ('provider', models.CharField(max_length=40, verbose_name='provider')),
                ('model', models.CharField(max_length=200, verbose_name='model')),
                ('state', models.CharField(choices=[('sending', 'sending'), ('accepted', 'accepted'), ('unknown', 'unknown'), ('succeeded', 'succeeded'), ('rejected', 'rejected'), ('failed', 'failed'), ('given_up', 'given up')], max_length=10, verbose_name='state')),
                ('reference', models.CharField(blank=True, max_length=200, null=True, verbose_name="provider's id")),
                ('sent_at', models.DateTimeField(verbose_name='sent')),
                ('send_by', models.DateTimeField(verbose_name='not sent after')),
                ('answer_by', models.DateTimeField(verbose_name='answer of the submit expected by')),
                ('deadline_at', models.DateTimeField(verbose_name='in doubt from')),
                ('give_up_at', models.DateTimeField(verbose_name='pursued until')),
                ('accepted_at', models.DateTimeField(blank=True, null=True, verbose_name='accepted')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended')),
                ('poll_at', models.DateTimeField(blank=True, null=True, verbose_name='next look')),
                ('polled_at', models.DateTimeField(blank=True, null=True, verbose_name='last look')),
                ('last_answer', models.CharField(blank=True, max_length=120, verbose_name='last answer')),
                ('why', models.CharField(blank=True, max_length=20, verbose_name='reason')),
                ('rule', models.CharField(blank=True, max_length=40, verbose_name='rule')),
                ('http_status', models.PositiveSmallIntegerField(blank=True, null=True, verbose_name='HTTP status')),
                ('code', models.CharField(blank=True, max_length=80, verbose_name="provider's code")),
                ('detail', models.CharField(blank=True, max_length=500, verbose_name='for the log')),
                ('cost', models.DecimalField(blank=True, decimal_places=4, max_digits=12, null=True, verbose_name='cost')),
                ('cost_estimate', models.DecimalField(blank=True, decimal_places=4, max_digits=12, null=True, verbose_name='estimate')),
                ('currency', models.CharField(blank=True, max_length=3, verbose_name='currency')),
                ('result', models.JSONField(blank=True, default=list, verbose_name='result')),
                ('late_outcome', models.CharField(blank=True, max_length=20, verbose_name='late news')),
                ('late_at', models.DateTimeField(blank=True, null=True, verbose_name='late news at')),
                ('after', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='providers.call', verbose_name='fallback after')),
                ('after_rule', models.CharField(blank=True, max_length=40, verbose_name='rule that allowed it')),
                ('again_at', models.DateTimeField(blank=True, null=True, verbose_name='may be asked again')),
                ('hook_token', models.CharField(default=providers.calls.models.new_token, editable=False, max_length=43)),
                ('key_mark', models.CharField(blank=True, editable=False, max_length=16)),
                ('no_output_at', models.DateTimeField(blank=True, null=True, verbose_name='complete without output since')),
            ],
            options={
                'verbose_name': 'call',
                'verbose_name_plural': 'calls',
                'indexes': [models.Index(condition=models.Q(('poll_at__isnull', False)), fields=['poll_at'], name='call_due'), models.Index(fields=['work'], name='call_of_work'), models.Index(fields=['provider', 'sent_at'], name='call_of_a_day'), models.Index(condition=models.Q(('why', ''), _negated=True), fields=['why', '-id'], name='call_by_reason'), models.Index(condition=models.Q(('state', 'succeeded')), fields=['provider', 'model', '-ended_at'], name='call_finished_of_model'), models.Index(condition=models.Q(('state', 'succeeded'), _negated=True), fields=['state', 'sent_at', 'id'], name='call_by_state')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['accepted', 'sending', 'succeeded', 'unknown'])), fields=('work',), name='call_wall'), models.UniqueConstraint(fields=('provider', 'reference'), name='call_reference_once'), models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['accepted', 'sending', 'unknown']), _negated=True), ('poll_at__isnull', False), _connector='OR'), name='call_live_is_looked_at'), models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('state__in', ['accepted', 'sending', 'unknown'])), models.Q(('ended_at__isnull', False), ('state__in', ['failed', 'given_up', 'rejected', 'succeeded'])), _connector='OR'), name='call_ended_once_ended'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'accepted'), _negated=True), models.Q(('accepted_at__isnull', False), ('reference__isnull', False)), _connector='OR'), name='call_accepted_has_reference'), models.CheckConstraint(condition=models.Q(('cost__isnull', True), ('cost__gte', 0), _connector='OR'), name='call_cost_not_negative'), models.CheckConstraint(condition=models.Q(models.Q(('late_at__isnull', True), ('late_outcome', '')), models.Q(('late_at__isnull', False), ('state__in', ['failed', 'given_up', 'rejected', 'succeeded'])), _connector='OR'), name='call_late_only_after_end'), models.CheckConstraint(condition=models.Q(('after__isnull', True), models.Q(('after_rule', ''), _negated=True), _connector='OR'), name='call_fallback_names_its_rule'), models.UniqueConstraint(fields=('hook_token',), name='call_hook_token_once')],
            },
        ),
        migrations.CreateModel(
            name='Gate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=40, verbose_name='provider')),
                ('model', models.CharField(blank=True, max_length=200, verbose_name='model')),
                ('paused_until', models.DateTimeField(blank=True, null=True, verbose_name='paused until')),
                ('exhausted_until', models.DateTimeField(blank=True, null=True, verbose_name='exhausted until')),
                ('why', models.CharField(blank=True, max_length=20, verbose_name='reason')),
                ('since', models.DateTimeField(blank=True, null=True, verbose_name='since')),
                ('probe', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='providers.call', verbose_name='probe')),
                ('shut_since', models.DateTimeField(blank=True, editable=False, null=True)),
                ('other_run_at', models.DateTimeField(blank=True, null=True, verbose_name='last answer about another run')),
                ('poll_pauses', models.PositiveSmallIntegerField(default=0, verbose_name='poll pauses in a row')),
                ('polls_paused_until', models.DateTimeField(blank=True, null=True, verbose_name='polls paused until')),
            ],
            options={
                'verbose_name': 'gate',
                'verbose_name_plural': 'gates',
                'constraints': [models.UniqueConstraint(fields=('provider', 'model'), name='gate_one_a_model'), models.CheckConstraint(condition=models.Q(('exhausted_until__isnull', True), ('model', ''), _connector='OR'), name='gate_exhausted_is_the_whole_provider'), models.CheckConstraint(condition=models.Q(models.Q(('exhausted_until__isnull', True), ('paused_until__isnull', True)), models.Q(('since__isnull', False), models.Q(('why', ''), _negated=True)), _connector='OR'), name='gate_paused_says_why')],
            },
        ),
        migrations.CreateModel(
            name='Hook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=40)),
                ('message_id', models.CharField(max_length=200)),
                ('received_at', models.DateTimeField()),
                ('reference', models.CharField(blank=True, max_length=200)),
                ('is_signed', models.BooleanField()),
                ('call', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='hooks', to='providers.call')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('provider', 'message_id'), name='hook_message_once')],
            },
        ),
        migrations.CreateModel(
            name='SmokeTest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=40, verbose_name='provider')),
                ('model', models.CharField(max_length=200, verbose_name='model')),
                ('work', models.CharField(blank=True, max_length=100, verbose_name='work')),
                ('began_at', models.DateTimeField(verbose_name='began')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended')),
                ('is_good', models.BooleanField(blank=True, null=True, verbose_name='good')),
                ('words', models.CharField(blank=True, max_length=300, verbose_name='in words')),
            ],
            options={
                'verbose_name': 'smoke test',
                'verbose_name_plural': 'smoke tests',
                'indexes': [models.Index(fields=['provider', '-began_at'], name='smoke_test_newest')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('provider',), name='smoke_test_one_at_a_time'), models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('is_good__isnull', True)), models.Q(('ended_at__isnull', False), ('is_good__isnull', False)), _connector='OR'), name='smoke_test_ended_with_a_verdict')],
            },
        ),
        migrations.CreateModel(
            name='CallDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=40, verbose_name='provider')),
                ('model', models.CharField(max_length=200, verbose_name='model')),
                ('day', models.DateField(verbose_name='day')),
                ('currency', models.CharField(blank=True, max_length=3, verbose_name='currency')),
                ('rejected', models.PositiveIntegerField(default=0, verbose_name='rejected')),
                ('failed', models.PositiveIntegerField(default=0, verbose_name='failed')),
                ('cost', models.DecimalField(decimal_places=4, default=0, max_digits=16, verbose_name='cost')),
                ('cost_estimate', models.DecimalField(decimal_places=4, default=0, max_digits=16, verbose_name='estimate')),
                ('given_up', models.PositiveIntegerField(default=0, verbose_name='given up')),
                ('possibly_charged', models.DecimalField(decimal_places=4, default=0, max_digits=16, verbose_name='possibly charged')),
                ('given_up_unpriced', models.PositiveIntegerField(default=0, verbose_name='given up without a price')),
            ],
            options={
                'verbose_name': 'day of old calls',
                'verbose_name_plural': 'days of old calls',
                'constraints': [models.UniqueConstraint(fields=('provider', 'model', 'day', 'currency'), name='call_day_once'), models.CheckConstraint(condition=models.Q(('cost__gte', 0), ('cost_estimate__gte', 0), ('possibly_charged__gte', 0)), name='call_day_money_not_negative')],
                'indexes': [models.Index(condition=models.Q(('given_up__gt', 0)), fields=['provider', 'currency'], name='call_day_given_up')],
            },
        ),
        migrations.CreateModel(
            name='Restore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('restored_at', models.DateTimeField()),
                ('backup_made_at', models.DateTimeField(blank=True, null=True)),
                ('last_call', models.BigIntegerField(default=0)),
            ],
        ),
    ]
