// The moderators' desk: letters for decisions and for choosing, and an end to a text whose look is over. Keys that name
// one link, button or field are marked with data-key on the page.
import { gettext } from "./words.js";

const DECISIONS = { d: "dismiss", h: "hide", s: "suspend", b: "ban" };
const FIELDS = "input:not([type=checkbox], [type=radio]), textarea, select";

/**
 * Choose a decision, and go to its reason.
 * @param {string} value
 */
function choose(value) {
  const radio = document.querySelector(`input[name="decision"][value="${value}"]`);
  if (!radio) return;
  radio.checked = true;
  radio.form.elements.reason.focus();
}

/** Choose the case that is shown for what is done with several, or leave it out again. */
function toggle() {
  (document.querySelector(".desk-cases .chosen") ?? document.querySelector(".desk-cases li"))
    ?.querySelector("input[type=checkbox]")?.click();
}

/** Open what can be done with the chosen cases, and go to its reason. */
function openBulk() {
  const bulk = document.querySelector(".desk-bulk");
  if (!bulk) return;
  bulk.open = true;
  bulk.querySelector("textarea").focus();
}

/** Undo what was decided last, as the message about it offers. */
function undoLast() {
  const undo = document.querySelector('.toast form[action*="/undo/"] button');
  undo?.click();
  return Boolean(undo);
}

/**
 * Follow the link, or go to the field, that the page marks with a key which elsewhere means something else.
 * @param {string} key
 */
function follow(key) {
  const marked = document.querySelector(`[data-desk-key="${CSS.escape(key)}"]`);
  if (marked?.matches("textarea")) marked.focus();
  else marked?.click();
  return Boolean(marked);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented) return;
  if (event.target.closest(FIELDS) || document.querySelector("dialog[open]")) return;
  if (event.key in DECISIONS) choose(DECISIONS[event.key]);
  else if (event.key === "x") toggle();
  else if (event.key === "g") openBulk();
  else if (!(event.key === "u" && undoLast()) && !follow(event.key)) return;
  event.preventDefault();
});

// A case that was chosen on one page of the queue stays chosen on the next one: the list is loaded again for each case.
const CHOSEN = "desk-chosen";
const boxes = () => [...document.querySelectorAll(".desk-cases input[type=checkbox]")];
const stored = new Set(JSON.parse(sessionStorage.getItem(CHOSEN) ?? "[]"));
for (const box of boxes()) box.checked = stored.has(box.value);

/** Keep which cases of this list are chosen, and say how many. */
function keep() {
  const chosen = boxes().filter((box) => box.checked).map((box) => box.value);
  sessionStorage.setItem(CHOSEN, JSON.stringify(chosen));
  const summary = document.querySelector(".desk-bulk summary");
  if (summary) summary.dataset.count = chosen.length || "";
}

keep();
document.addEventListener("change", (event) => event.target.matches(".desk-cases input") && keep());
document.addEventListener("submit", (event) => event.target.matches(".desk-many") && sessionStorage.removeItem(CHOSEN));

// The case that is shown is in view in the list.
document.querySelector(".desk-cases .chosen")?.scrollIntoView({ block: "nearest" });

// Of a long conversation, what the case is about is in view.
const target = document.querySelector(".desk-part:not(.around)");
if (target) {
  const region = target.parentElement;
  region.scrollTop = target.offsetTop - region.offsetTop - region.clientHeight / 3;
}

const text = document.querySelector("[data-look-ends]");
if (text) {
  setTimeout(() => {
    const over = document.createElement("p");
    over.className = "notice";
    over.textContent = gettext("Your access to this text has ended. Reload the page to open it again.");
    text.querySelector(".desk-parts")?.replaceWith(over);
  }, Math.max(Date.parse(text.dataset.lookEnds) - Date.now(), 0));
}
