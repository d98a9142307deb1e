from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("common", "0002_lease")]

    operations = [migrations.RunSQL("SELECT pgmq.create('models')", migrations.RunSQL.noop)]  # publishers need it
