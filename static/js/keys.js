// The keyboard: `/` search, arrows for the versions of the focused message, `j` `k` through the messages or the memories of a list, and letters for what the page marks
// with data-key, or within a memory with data-step-key.
const MESSAGE = ".message, [data-step]";

function typing(target) {
  return target.matches?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
}

function current() {
  return document.activeElement.closest?.(MESSAGE);
}

function firstVisible(messages) {
  return messages.find((message) => message.getBoundingClientRect().bottom > 120) ?? messages.at(-1);
}

function step(by) {
  const messages = [...document.querySelectorAll(MESSAGE)];
  const at = messages.indexOf(current());
  const next = at < 0 ? firstVisible(messages) : messages[at + by];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}

function press(key) {
  const marked = `[data-key="${CSS.escape(key)}"]`;
  const within = `${marked}, [data-step-key="${CSS.escape(key)}"]`;
  const target = current()?.querySelector(within) ?? document.querySelector(`${marked}:not(:is(${MESSAGE}) *)`);
  if (!target) return false;
  if (target.matches("input:not([type=checkbox]), textarea, select")) {
    target.focus();
    target.select?.();
  } else if (target.matches("details")) {
    target.open = true;
    target.querySelector("input")?.focus();
  } else {
    target.click();
  }
  return true;
}

function stepVersion(key) {
  const focused = document.activeElement;
  const message = focused?.matches(".message") ? focused : null;
  const control = message?.querySelector(`[data-arrow=${key}]`);
  const asks = control?.matches("[data-version]") && anotherReply(message);
  (asks || control)?.click?.();
  return Boolean(control);
}

/** Return the button that asks for another reply, if this is the message that it would replace. */
function anotherReply(message) {
  const isLast = message === [...document.querySelectorAll(".turn[data-id] .message")].at(-1);
  return isLast && !document.querySelector("#tail [data-near]") && document.querySelector(".replies button[value=swipe]");
}

function recall() {
  const card = current()?.closest("li")?.querySelector("details.recall");
  if (card) card.open = !card.open;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape" && typing(event.target)) return event.target.blur();
  if (typing(event.target) || document.querySelector("dialog[open]")) return;
  if (event.key === "j") return step(1);
  if (event.key === "k") return step(-1);
  if (event.key === "r") return recall();
  if (event.key === "?") return document.getElementById("keys").showModal();
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") return stepVersion(event.key) && event.preventDefault();
  if (press(event.key)) event.preventDefault();
});
