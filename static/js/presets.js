// The connection form: a preset fills in the fields of its server. What was typed in other fields stays.

const select = document.querySelector("select[data-presets]");

if (select) {
  const presets = JSON.parse(document.getElementById("presets").textContent);
  const note = document.getElementById("preset-note");
  select.closest("[hidden]").hidden = false;
  select.addEventListener("change", () => {
    const preset = presets[select.value];
    note.textContent = preset?.note ?? "";
    for (const [name, value] of Object.entries(preset?.fields ?? {})) select.form.elements.namedItem(name).value = value;
  });
}
