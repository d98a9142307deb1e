// The progress of a run reloads every second; what one has opened in it stays open.
let open = false;

document.body.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  if (target.id === "run-progress") open = target.querySelector("details[open]") !== null;
});

document.body.addEventListener("htmx:load", ({ detail: { elt } }) => {
  const details = elt.id === "run-progress" && elt.querySelector("details");
  if (details) details.open = open;
});

// An import's progress is read out where it says something new, not every second.
document.body.addEventListener("htmx:load", ({ detail: { elt } }) => {
  const status = document.getElementById("import-status");
  const said = elt.id === "import-job" ? elt.dataset.said : undefined;
  if (status && said && status.textContent !== said) status.textContent = said;
});
