// "Remember this" on a message, or on the part of its text that is selected: the form opens below the message.
import { gettext } from "./words.js";

const room = document.querySelector("[data-remember-url]");
const MARGIN = 8; // px between the selection and the button

function selectedIn(room) {
  const selection = document.getSelection();
  if (!selection || selection.isCollapsed || !selection.toString().trim()) return null;
  const range = selection.getRangeAt(0);
  const prose = [range.startContainer, range.endContainer].map((node) => (
    (node instanceof Element ? node : node.parentElement)?.closest(".prose")
  ));
  const turn = prose[0]?.closest(".turn[data-id]");
  return turn && prose[0] === prose[1] && room.contains(turn) ? { turn, text: selection.toString(), range } : null;
}

function close(form) {
  const turn = form.closest(".turn");
  form.remove();
  turn?.querySelector(".message")?.focus({ preventScroll: true });
}

let asked = 0; // forms so far

async function open(turn, text = "") {
  const number = ++asked;
  turn.querySelector(".menu[open]")?.removeAttribute("open");
  document.querySelectorAll(".remember").forEach((form) => form.remove());
  const query = new URLSearchParams({ message: turn.dataset.id, text });
  // Without a source it would wait for other requests of the page, and the promise would not.
  await window.htmx.ajax("GET", `${room.dataset.rememberUrl}?${query}`, { source: turn, target: turn, swap: "beforeend" });
  const form = turn.querySelector(".remember");
  if (number !== asked) return form?.remove(); // another one has been asked for meanwhile
  form?.scrollIntoView({ block: "nearest" });
  form?.querySelector("textarea")?.focus({ preventScroll: true });
}

function floatingButton() {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "button remember-selected", textContent: gettext("Remember this"), hidden: true });
  document.body.append(button);
  // On pointerdown the selection would be lost before the click.
  button.addEventListener("pointerdown", (event) => event.preventDefault());
  button.addEventListener("click", () => {
    const selected = selectedIn(room);
    button.hidden = true;
    if (!selected) return;
    open(selected.turn, selected.text);
    document.getSelection().removeAllRanges();
  });
  return button;
}

function place(button) {
  const selected = selectedIn(room);
  button.hidden = !selected;
  if (!selected) return;
  const box = selected.range.getBoundingClientRect();
  const [width, height] = [button.offsetWidth, button.offsetHeight];
  const below = box.bottom + MARGIN;
  const top = below + height < innerHeight ? below : Math.max(box.top - height - MARGIN, MARGIN);
  button.style.insetBlockStart = `${top}px`;
  button.style.insetInlineStart = `${Math.min(Math.max(box.left, MARGIN), innerWidth - width - MARGIN)}px`;
}

if (room) {
  const button = floatingButton();
  document.addEventListener("selectionchange", () => place(button));
  document.addEventListener("scroll", () => place(button), { capture: true, passive: true });
  document.addEventListener("click", (event) => {
    const [link, cancel] = ["[data-remember]", "[data-dismiss-remember]"].map((name) => event.target.closest(name));
    if ((!link && !cancel) || event.ctrlKey || event.metaKey) return;
    const turn = event.target.closest(".turn[data-id]");
    if (!turn) return;
    event.preventDefault();
    if (link) open(turn);
    else close(cancel.closest(".remember"));
  });
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest?.(".remember:has(form)");
    if (event.key === "Escape" && form) return close(form);
    if (event.key !== "m" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, textarea, select, dialog")) return;
    const selected = selectedIn(room);
    const turn = selected?.turn ?? document.activeElement.closest?.(".turn[data-id]");
    if (!turn) return;
    event.preventDefault();
    open(turn, selected?.text);
  });
}
