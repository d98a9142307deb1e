from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chats', '0008_withheld_index'),
    ]

    operations = [
        migrations.AlterField(
            model_name='chat',
            name='header_layout',
            field=models.TextField(blank=True, default='', help_text='Layout of the imported header (see message_data.layout).'),
        ),
        migrations.AlterField(
            model_name='message',
            name='layout',
            field=models.TextField(blank=True, default='', help_text='Layout of the imported line (see message_data.layout).'),
        ),
    ]
