import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("llm", "0003_backends_by_name"),
        ("common", "0005_one_lease"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        # The table stays until a later migration: without it, a job that a worker of the earlier version still runs
        # would fail at its next call. Nothing keeps the rows that such a worker leaves, so they may keep nothing.
        migrations.AlterField(
            model_name="queuedcall",
            name="connection",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="queued_calls",
                to="llm.connection",
            ),
        ),
        migrations.AlterField(
            model_name="queuedcall",
            name="owner",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunSQL(migrations.RunSQL.noop, "DELETE FROM llm_queuedcall"),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel(name="QueuedCall")]),
    ]
