"""Forms of scenes."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.scenes import SceneBreak


class SceneForm(forms.Form):
    name = forms.CharField(max_length=MAX_NAME_LENGTH, required=False, label=_("Name"))


class SceneEditForm(forms.Form):
    """Edit a scene. It carries the values that were shown, so that only what the person changed is written."""

    name = forms.CharField(max_length=MAX_NAME_LENGTH, required=False, show_hidden_initial=True, label=_("Name"))
    recap = forms.CharField(
        required=False, widget=forms.Textarea(attrs={"rows": 3}), show_hidden_initial=True, label=_("Recap")
    )
    visible = forms.BooleanField(required=False, label=_("Show the line in the conversation"), show_hidden_initial=True)
    include = forms.BooleanField(required=False, label=_("Use the recap in the prompt"), show_hidden_initial=True)

    @classmethod
    def from_scene(cls, scene: SceneBreak) -> "SceneEditForm":
        fields = {"name": scene.name, "recap": scene.recap, "visible": scene.is_visible, "include": scene.is_included}
        return cls(initial=fields, auto_id=f"%s-{scene.last.index}")

    def changes(self) -> dict[str, Any]:
        """Return the arguments of ``scenes.scene_change``: the fields that differ from what was shown."""
        data = self.cleaned_data | {
            "name": self.cleaned_data["name"] or None,
            "recap": self.cleaned_data["recap"].replace("\r\n", "\n"),
        }
        return {name: data[name] for name in self.changed_data}
