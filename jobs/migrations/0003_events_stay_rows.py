"""Repeated events stay as rows. An event `tidied` stood for several that are gone; it goes as well,
and the version of its job counts the events that are left.
"""

from django.db import migrations
from django.db.models import F


def remove_tidied_events(apps, schema_editor):
    alias = schema_editor.connection.alias
    events = apps.get_model("jobs", "Event").objects.using(alias).filter(name="tidied")
    jobs = apps.get_model("jobs", "Job").objects.using(alias)
    for job_id, facts in events.values_list("job_id", "facts"):
        jobs.filter(pk=job_id).update(version=F("version") - facts["events"])
    events.delete()


class Migration(migrations.Migration):
    dependencies = [("jobs", "0002_stage_work")]

    operations = [migrations.RunPython(remove_tidied_events, migrations.RunPython.noop)]
