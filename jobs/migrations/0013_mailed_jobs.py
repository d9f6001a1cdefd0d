from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0012_account_of_job'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('notified_at__isnull', False)), fields=['notified_at'], name='job_mailed'),
        ),
    ]
