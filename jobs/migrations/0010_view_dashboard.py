from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0009_ended_jobs'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='heartbeat',
            options={'permissions': [('view_dashboard', 'Can view the dashboard')]},
        ),
    ]
