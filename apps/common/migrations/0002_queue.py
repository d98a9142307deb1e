from django.db import migrations


class Migration(migrations.Migration):
    """The queue of background work, so that whoever publishes finds it there."""

    dependencies = [("common", "0001_initial")]

    operations = [migrations.RunSQL("SELECT pgmq.create('loci')", migrations.RunSQL.noop)]
