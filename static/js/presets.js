// The connection form: a preset fills in the fields of its server, a click on a model its field. What was typed in other
// fields stays.

// Parts of the names of models that compute vectors and write nothing.
const EMBEDDING = /embed|\bbge\b|\be5\b|gte-|minilm|nomic/i;

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

const offered = document.getElementById("offered");

if (offered) {
  const form = offered.closest("form");
  const choose = (/** @type {HTMLElement} */ button) => {
    const name = button.dataset.model;
    form.elements.namedItem(EMBEDDING.test(name) ? "embedding_model" : "model").value = name;
    mark();
  };
  const mark = () => {
    const chosen = ["model", "embedding_model"].map((name) => form.elements.namedItem(name).value);
    for (const button of offered.querySelectorAll("[data-model]")) {
      button.setAttribute("aria-pressed", String(chosen.includes(button.dataset.model)));
    }
  };
  offered.addEventListener("click", (event) => {
    const button = event.target.closest("[data-model]");
    if (button) choose(button);
  });
  // A server that offers one model to write with leaves nothing to choose.
  offered.addEventListener("htmx:afterSwap", () => {
    const writing = [...offered.querySelectorAll("[data-model]")].filter(({ dataset }) => !EMBEDDING.test(dataset.model));
    if (writing.length === 1 && !form.elements.namedItem("model").value) choose(writing[0]);
    mark();
  });
  form.addEventListener("input", mark);
}
