import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0015_vacuum_again")]

    operations = [
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                models.F("owner"),
                models.F("story"),
                condition=models.Q(("story__isnull", False)),
                name="memory_story",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                models.F("owner"),
                models.F("story"),
                condition=models.Q(("chat", None), ("story__isnull", False)),
                name="memory_left_of_story",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                models.F("split_from"), condition=models.Q(("split_from__isnull", False)), name="memory_split_from"
            ),
        ),
        migrations.AlterField(
            model_name="memory",
            name="split_from",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                help_text="The memory that a person split into this one and others.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="parts",
                to="memories.memory",
            ),
        ),
    ]
