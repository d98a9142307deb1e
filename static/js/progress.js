// The progress of a run asks anew every second; what one has opened in it stays open.
let open = false;

document.body.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  if (target.id === "run-progress") open = target.querySelector("details[open]") !== null;
});

document.body.addEventListener("htmx:load", ({ detail: { elt } }) => {
  const details = elt.id === "run-progress" && elt.querySelector("details");
  if (details) details.open = open;
});
