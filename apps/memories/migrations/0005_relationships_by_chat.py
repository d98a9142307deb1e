from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("memories", "0004_steps_by_window")]

    operations = [
        migrations.RemoveConstraint("relationship", "relationship_one_current_word"),
        migrations.AddConstraint(
            "relationship",
            models.UniqueConstraint(
                fields=["chat", "subject", "target", "descriptor"],
                condition=Q(state="current"),
                name="relationship_one_current_word",
            ),
        ),
    ]
