// The progress of a run reloads every second. Keep its details open if the user has opened them.
let open = false;

document.body.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  if (target.id === "run-progress") open = target.querySelector("details[open]") !== null;
});

document.body.addEventListener("htmx:load", ({ detail: { elt } }) => {
  const details = elt.id === "run-progress" && elt.querySelector("details");
  if (details) details.open = open;
});

// Announce the progress of an import only when the text changes, not at every reload.
document.body.addEventListener("htmx:load", ({ detail: { elt } }) => {
  const status = document.getElementById("import-status");
  const text = elt.id === "import-job" ? elt.dataset.announcement : undefined;
  if (status && text && status.textContent !== text) status.textContent = text;
});
