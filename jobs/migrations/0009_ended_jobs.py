from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0008_staff_actions'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['ended_at', 'state'], name='job_ended'),
        ),
    ]
