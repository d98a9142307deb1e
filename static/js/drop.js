// Put files that are dropped anywhere on the page into the import form, and submit it.
import { filled, gettext } from "./words.js";

const form = document.querySelector("form[data-drop]");
const veil = document.getElementById("drop-veil");
const MIN_PROGRESS_BYTES = 1_000_000; // smaller uploads end before anyone could read their progress

function carriesFiles(event) {
  return [...(event.dataTransfer?.types ?? [])].includes("Files");
}

function show(dropping, words = gettext("Drop to import")) {
  veil.hidden = !dropping;
  veil.querySelector("[data-drop-words]").textContent = words;
}

function send() {
  show(true, gettext("Reading your file …"));
  form.requestSubmit();
}

function showProgress({ detail: { loaded, total } }) {
  if (total < MIN_PROGRESS_BYTES) return;
  const percent = Math.floor(100 * loaded / total);
  show(true, loaded < total ? filled(gettext("Sending your file, %(percent)s % …"), { percent }) : gettext("Reading your file …"));
}

// Hide the overlay if the import failed. Otherwise the response redirects to the result.
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
    depth = 0;
    if (event.defaultPrevented) return show(false); // it is an image for the composer
    event.preventDefault();
    input.files = event.dataTransfer.files;
    if (input.files.length) send();
    else show(false);
  });
}

if (form) {
  const input = form.querySelector("input[type=file]");
  input.addEventListener("change", () => input.files.length && send());
  watchDrops(input);
  form.addEventListener("htmx:xhr:progress", showProgress);
  form.addEventListener("htmx:afterRequest", finish);
  // The back button may restore the page from the browser's cache with the overlay still visible.
  window.addEventListener("pageshow", () => show(false));
}
