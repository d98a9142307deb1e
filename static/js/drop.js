// A file dropped anywhere on the page goes into the import form, which is then sent as if by hand.
const form = document.querySelector("form[data-drop]");
const veil = document.getElementById("drop-veil");
const SLOW = 1_000_000; // bytes; less is sent before one could read how far it is

function carriesFiles(event) {
  return [...(event.dataTransfer?.types ?? [])].includes("Files");
}

function show(dropping, words = "Drop to import") {
  veil.hidden = !dropping;
  veil.querySelector("[data-drop-words]").textContent = words;
}

function send() {
  show(true, "Reading your file …");
  form.requestSubmit();
}

function tellProgress({ detail: { loaded, total } }) {
  if (total < SLOW) return;
  const percent = Math.floor(100 * loaded / total);
  show(true, loaded < total ? `Sending your file, ${percent} % …` : "Reading your file …");
}

// The page stays when nothing came in; otherwise it goes to what did, and the veil with it.
function finish(event) {
  if (event.detail.xhr.getResponseHeader("HX-Redirect")) return;
  show(false);
  form.reset();
}

function watchDrops(input) {
  let depth = 0;
  document.addEventListener("dragenter", (event) => {
    if (carriesFiles(event)) show(++depth > 0);
  });
  document.addEventListener("dragleave", (event) => {
    if (carriesFiles(event)) show(--depth > 0);
  });
  document.addEventListener("dragover", (event) => {
    if (carriesFiles(event)) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    depth = 0;
    input.files = event.dataTransfer.files;
    if (input.files.length) send();
    else show(false);
  });
}

if (form) {
  const input = form.querySelector("input[type=file]");
  input.addEventListener("change", () => input.files.length && send());
  watchDrops(input);
  form.addEventListener("htmx:xhr:progress", tellProgress);
  form.addEventListener("htmx:afterRequest", finish);
  // Back from the import's result, the page may come out of the browser's memory as it was.
  window.addEventListener("pageshow", () => show(false));
}
