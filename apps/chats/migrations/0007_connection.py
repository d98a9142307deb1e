import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chats', '0006_folders'),
        ('llm', '0004_places_are_leases'),
    ]

    operations = [
        migrations.AddField(
            model_name='chat',
            name='connection',
            field=models.ForeignKey(blank=True, help_text='Whose model replies; null: the one that the owner uses for generation.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='chats', to='llm.connection'),
        ),
    ]
