// Forms: ask before what can't be undone, send by Ctrl+Enter or Enter, empty the composer once its text is stored, say
// where the clock stands to whoever needs it.

document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
  if (question && !window.confirm(question)) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}, true);

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !event.target.matches?.("textarea")) return;
  if (!(event.ctrlKey || event.metaKey || isSentByEnter(event))) return;
  event.preventDefault();
  event.target.form?.requestSubmit();
});

// Not while an input method composes a word, and not on a phone, whose keyboard has no other key for a new line.
function isSentByEnter({ target, shiftKey, altKey, isComposing }) {
  return document.documentElement.dataset.sendKey === "enter" && target.matches(".composer textarea")
    && !shiftKey && !altKey && !isComposing && !window.matchMedia("(hover: none)").matches;
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit-on-change]")) event.target.form.requestSubmit();
});

document.body.addEventListener("htmx:afterRequest", (event) => {
  const form = event.target.closest?.("form[data-reset]");
  if (form && event.detail.successful && event.detail.elt === form) form.reset();
});

for (const field of document.querySelectorAll("input[data-time-zone]")) {
  field.value = new Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
}

window.addEventListener("beforeunload", (event) => {
  const unsent = [...document.querySelectorAll("textarea[data-keep]")];
  if (unsent.some((field) => field.value !== field.defaultValue && !field.form.matches(".sending"))) event.preventDefault();
});

document.addEventListener("submit", (event) => event.target.classList.add("sending"));
document.body.addEventListener("htmx:afterRequest", (event) => event.target.closest?.("form")?.classList.remove("sending"));
