from django.db import migrations


class Migration(migrations.Migration):
    """Apart from 0004, since PostgreSQL alters no table in a transaction that has inserted rows
    which refer to it."""

    dependencies = [
        ('providers', '0004_result_files'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='call',
            name='result',
        ),
    ]
