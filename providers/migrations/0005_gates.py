
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('providers', '0004_hook_token'),
    ]

    operations = [
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
            ],
            options={
                'verbose_name': 'gate',
                'verbose_name_plural': 'gates',
                'constraints': [models.UniqueConstraint(fields=('provider', 'model'), name='gate_one_a_model'), models.CheckConstraint(condition=models.Q(('exhausted_until__isnull', True), ('model', ''), _connector='OR'), name='gate_exhausted_is_the_whole_provider'), models.CheckConstraint(condition=models.Q(models.Q(('exhausted_until__isnull', True), ('paused_until__isnull', True)), models.Q(('since__isnull', False), models.Q(('why', ''), _negated=True)), _connector='OR'), name='gate_paused_says_why')],
            },
        ),
    ]
