from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0016_stories_of_memories")]

    operations = [
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(models.F("embedding_model"), models.F("owner"), name="memory_embedding_model"),
        ),
        migrations.AddIndex(
            model_name="passage",
            index=models.Index(models.F("embedding_model"), models.F("owner"), name="passage_embedding_model"),
        ),
    ]
