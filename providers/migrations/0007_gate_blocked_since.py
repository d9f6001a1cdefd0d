from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("providers", "0006_reasons_and_rules")]

    operations = [migrations.RenameField("gate", "shut_since", "blocked_since")]
