from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("common", "0003_no_notify_triggers")]

    operations = [migrations.RunSQL("SELECT pgmq.create('models')", migrations.RunSQL.noop)]  # publishers need it
