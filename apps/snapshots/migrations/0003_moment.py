from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("snapshots", "0002_taken_at")]

    operations = [
        migrations.AddField(
            model_name="snapshot",
            name="moment",
            field=models.CharField(
                blank=True,
                default="",
                help_text="Name of the moment that it is to hold, as long as it is kept.",
                max_length=64,
            ),
        ),
        migrations.RemoveConstraint(model_name="snapshot", name="snapshot_one_at_a_time"),
        migrations.AddConstraint(
            model_name="snapshot",
            constraint=models.UniqueConstraint(
                condition=Q(state__in=("queued", "running", "paused")),
                fields=("owner", "kind", "chat_id", "reason"),
                name="snapshot_one_at_a_time",
                nulls_distinct=False,
            ),
        ),
    ]
