from django.db import migrations, models


def rename_rule(apps, schema_editor):
    calls = apps.get_model("providers", "Call").objects
    for column in ("rule", "after_rule"):
        calls.filter(**{column: "overslept"}).update(**{column: "send_window_missed"})


class Migration(migrations.Migration):

    dependencies = [
        ('providers', '0005_no_result_column'),
    ]

    operations = [
        migrations.AlterField(
            model_name='call',
            name='after_rule',
            field=models.CharField(blank=True, choices=[('send_window_missed', 'send_window_missed'), ('never_connected', 'never_connected'), ('lost', 'lost'), ('redirected', 'redirected'), ('unlisted', 'unlisted'), ('unclear_4xx', 'unclear_4xx'), ('too_many', 'too_many'), ('refused', 'refused'), ('own_enqueue_error', 'own_enqueue_error'), ('own_error', 'own_error'), ('gateway_error', 'gateway_error'), ('unreadable', 'unreadable'), ('adapter_raised', 'adapter_raised'), ('sender_lost', 'sender_lost'), ('repeated_id', 'repeated_id'), ('not_executed', 'not_executed'), ('end_of_retention', 'end_of_retention'), ('given_back', 'given_back'), ('other_run', 'other_run'), ('paused', 'paused'), ('rejected', 'rejected'), ('failed_for_nothing', 'failed_for_nothing'), ('failed_billed', 'failed_billed')], max_length=40, verbose_name='rule that allowed it'),
        ),
        migrations.AlterField(
            model_name='call',
            name='rule',
            field=models.CharField(blank=True, choices=[('send_window_missed', 'send_window_missed'), ('never_connected', 'never_connected'), ('lost', 'lost'), ('redirected', 'redirected'), ('unlisted', 'unlisted'), ('unclear_4xx', 'unclear_4xx'), ('too_many', 'too_many'), ('refused', 'refused'), ('own_enqueue_error', 'own_enqueue_error'), ('own_error', 'own_error'), ('gateway_error', 'gateway_error'), ('unreadable', 'unreadable'), ('adapter_raised', 'adapter_raised'), ('sender_lost', 'sender_lost'), ('repeated_id', 'repeated_id'), ('not_executed', 'not_executed'), ('end_of_retention', 'end_of_retention'), ('given_back', 'given_back'), ('other_run', 'other_run'), ('paused', 'paused'), ('rejected', 'rejected'), ('failed_for_nothing', 'failed_for_nothing'), ('failed_billed', 'failed_billed')], max_length=40, verbose_name='rule'),
        ),
        migrations.AlterField(
            model_name='call',
            name='why',
            field=models.CharField(blank=True, choices=[('config', 'config'), ('auth', 'auth'), ('balance', 'balance'), ('rate', 'rate'), ('input', 'input'), ('content', 'content'), ('no_output', 'no_output'), ('provider', 'provider'), ('cancelled', 'cancelled'), ('deadline', 'deadline'), ('transport', 'transport'), ('staff', 'staff'), ('cap', 'cap')], max_length=20, verbose_name='reason'),
        ),
        migrations.AlterField(
            model_name='gate',
            name='why',
            field=models.CharField(blank=True, choices=[('config', 'config'), ('auth', 'auth'), ('balance', 'balance'), ('rate', 'rate'), ('input', 'input'), ('content', 'content'), ('no_output', 'no_output'), ('provider', 'provider'), ('cancelled', 'cancelled'), ('deadline', 'deadline'), ('transport', 'transport'), ('staff', 'staff'), ('cap', 'cap')], max_length=20, verbose_name='reason'),
        ),
        migrations.RunPython(rename_rule, migrations.RunPython.noop),
    ]
