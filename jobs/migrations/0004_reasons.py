from django.db import migrations, models


def rename_event(apps, schema_editor):
    """Told by the rule of its call, which is renamed in providers.0005."""
    events = apps.get_model("jobs", "Event").objects
    events.filter(name="overslept").update(name="send_window_missed")


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0003_events_stay_rows'),
    ]

    operations = [
        migrations.AlterField(
            model_name='job',
            name='reason',
            field=models.CharField(blank=True, choices=[('config', 'config'), ('auth', 'auth'), ('balance', 'balance'), ('rate', 'rate'), ('input', 'input'), ('content', 'content'), ('no_output', 'no_output'), ('provider', 'provider'), ('cancelled', 'cancelled'), ('deadline', 'deadline'), ('transport', 'transport'), ('staff', 'staff'), ('cap', 'cap'), ('unwanted', 'unwanted'), ('not_fetched', 'not_fetched'), ('unread', 'unread'), ('given_back', 'given_back'), ('restored', 'restored')], max_length=20, verbose_name='reason'),
        ),
        migrations.RunPython(rename_event, migrations.RunPython.noop),
    ]
