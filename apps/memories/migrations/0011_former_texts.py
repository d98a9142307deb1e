"""Keep the texts of memories that a person corrected."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0010_trigger_keys")]

    operations = [
        migrations.AddField(
            model_name="memory",
            name="former_texts",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(),
                blank=True,
                default=list,
                help_text="Texts that a person corrected, the latest last.",
                size=None,
            ),
        ),
    ]
