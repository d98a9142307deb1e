import django.contrib.postgres.fields
from django.db import migrations, models

# What is under way is counted again when it is renewed, or when the next one begins.
FORGET = "DELETE FROM common_lease"


class Migration(migrations.Migration):
    dependencies = [("common", "0004_queue_of_models")]

    operations = [
        migrations.RunSQL(FORGET, FORGET),
        migrations.AddField(
            model_name="lease",
            name="holders",
            field=django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
            preserve_default=False,
        ),
        migrations.DeleteModel(name="Heartbeat"),
    ]
