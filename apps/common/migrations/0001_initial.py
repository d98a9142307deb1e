from django.db import migrations, models
from pgmq.install import get_embedded_install_sql
from pgvector.django import VectorExtension


def install_queues(apps, schema_editor):
    """Create the tables and functions of the default broker unless the server has them."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('pgmq.meta')")
        if cursor.fetchone() == (None,):
            cursor.execute(get_embedded_install_sql())


class Migration(migrations.Migration):
    initial = True

    dependencies = []
    run_before = [("memories", "__first__")]  # its columns are vectors

    operations = [
        VectorExtension(),
        migrations.RunPython(install_queues, migrations.RunPython.noop),
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                ("part", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="RateLimit",
            fields=[
                ("key", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("used_until", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Metric",
            fields=[
                ("sample", models.TextField(primary_key=True, serialize=False)),
                ("value", models.FloatField(default=0)),
            ],
        ),
        migrations.RunSQL("ALTER TABLE common_metric SET UNLOGGED", migrations.RunSQL.noop),
        # Counters may be lost in a crash, and each request writes one.
        migrations.RunSQL("ALTER TABLE common_ratelimit SET UNLOGGED", migrations.RunSQL.noop),
        migrations.RunSQL(  # as `createcachetable` does
            """CREATE UNLOGGED TABLE common_cache (
                cache_key varchar(255) NOT NULL PRIMARY KEY, value text NOT NULL, expires timestamptz NOT NULL
            );
            CREATE INDEX common_cache_expires ON common_cache (expires)""",
            "DROP TABLE common_cache",
        ),
        migrations.RunSQL(  # publishers need them to exist
            "SELECT pgmq.create(name) FROM unnest(ARRAY['interactive', 'extraction', 'indexing', 'scheduled', 'replies']) AS name",
            migrations.RunSQL.noop,
        ),
    ]
