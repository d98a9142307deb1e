// A file dropped anywhere on the page goes into the import form, which is then sent as if by hand.
const form = document.querySelector("form[data-drop]");
const veil = document.getElementById("drop-veil");

function carriesFiles(event) {
  return [...(event.dataTransfer?.types ?? [])].includes("Files");
}

function show(dropping) {
  veil.hidden = !dropping;
}

function send() {
  show(true);
  veil.querySelector("[data-drop-words]").textContent = "Reading your file …";
  form.requestSubmit();
}

if (form) {
  const input = form.querySelector("input[type=file]");
  let depth = 0;
  input.addEventListener("change", () => input.files.length && send());
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
  // Back from the import's result, the page may come out of the browser's memory as it was.
  window.addEventListener("pageshow", () => show(false));
}
