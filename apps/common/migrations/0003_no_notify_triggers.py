from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("common", "0002_lease")]

    operations = [
        # They write to one row a queue, for which everybody waited who published. Publishers notify by themselves.
        migrations.RunSQL("SELECT pgmq.disable_notify_insert(queue_name) FROM pgmq.meta", migrations.RunSQL.noop),
    ]
