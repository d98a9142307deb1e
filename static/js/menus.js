// Menus open where they fit, and close when one looks elsewhere; dialogs open by a button; toasts can be closed, and leave
// by themselves.
const TOAST_MS = 8000;
const MARGIN = 8; // px between a menu and the edge of what is in view

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(".menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  const opener = event.target.closest("[data-open]");
  if (opener) {
    opener.closest(".menu")?.removeAttribute("open");
    document.getElementById(opener.dataset.open).showModal();
  }
  event.target.closest("[data-dismiss]")?.closest(".toast, .notice").remove();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.querySelector(".menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

/** The part of the window in which `element` is seen: its nearest ancestor that scrolls, or all. */
function viewOf(element) {
  for (let around = element.parentElement; around && around !== document.body; around = around.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(around).overflowY)) return around.getBoundingClientRect();
  }
  return { top: 0, bottom: window.innerHeight, left: 0 };
}

/** Open the sheet of a menu below its button, above it or at its side, where all of it fits; else scroll the sheet. */
function fit(menu) {
  const sheet = menu.querySelector(":scope > .menu-sheet:not(.up)");
  if (!sheet || !menu.open) return;
  sheet.classList.remove("above");
  sheet.removeAttribute("style");
  const view = viewOf(menu);
  const button = menu.querySelector("summary").getBoundingClientRect();
  const [top, bottom] = [Math.max(view.top, 0) + MARGIN, Math.min(view.bottom, window.innerHeight) - MARGIN];
  const [above, below, height] = [button.top - MARGIN - top, bottom - button.bottom - MARGIN, sheet.offsetHeight];
  if (height > Math.max(above, below) && button.left - Math.max(view.left, 0) > sheet.offsetWidth + 2 * MARGIN) {
    const start = Math.max(top, Math.min(button.top, bottom - height));
    Object.assign(sheet.style, {
      insetBlockStart: `${start - button.top}px`,
      insetInlineEnd: `${button.width + MARGIN}px`,
      maxBlockSize: `${bottom - start}px`,
    });
    return;
  }
  const isAbove = height > below && above > below;
  sheet.classList.toggle("above", isAbove);
  sheet.style.maxBlockSize = `${isAbove ? above : below}px`;
  const hidden = Math.max(view.left, 0) + MARGIN - sheet.getBoundingClientRect().left;
  if (hidden > 0) sheet.style.insetInlineEnd = `${-hidden}px`;
}

const fitAround = (element) => { for (let menu = element.closest?.(".menu"); menu; menu = menu.parentElement.closest(".menu")) fit(menu); };
document.addEventListener("toggle", (event) => fitAround(event.target), true);
document.body.addEventListener("htmx:afterSettle", ({ detail: { target } }) => fitAround(target));
// What comes or goes above an open menu moves it, under the head of the page too.
const moves = new ResizeObserver(() => fitAround(document.querySelector(".menu[open]") ?? document.body));
document.addEventListener("toggle", () => {
  moves.disconnect();
  for (let around = document.querySelector(".menu[open]"); around; around = around.parentElement) moves.observe(around);
}, true);

// Of tabs that don't fit, the one that is open is in view.
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

for (const opener of document.querySelectorAll("[data-open]")) opener.hidden = false;

function leaveLater(toast, after = TOAST_MS) {
  setTimeout(() => toast.matches(":hover, :focus-within") ? leaveLater(toast, after) : toast.remove(), after);
}

export function say(text, level = "info") {
  const toasts = document.getElementById("toasts");
  if ([...toasts.children].some((toast) => toast.textContent === text)) return;
  const toast = document.createElement("div");
  toast.className = `toast ${level}`;
  toast.append(text);
  toasts.append(toast);
  leaveLater(toast, level === "error" ? 2 * TOAST_MS : TOAST_MS);
}

/** Say something that one can answer with a button. @param {string} text @param {string} label @param {() => void} action */
export function sayWith(text, label, action) {
  const toast = document.createElement("div");
  const [words, button] = [document.createElement("span"), document.createElement("button")];
  toast.className = "toast info";
  words.textContent = text;
  Object.assign(button, { type: "button", className: "button quiet", textContent: label });
  button.addEventListener("click", () => { toast.remove(); action(); });
  toast.append(words, button);
  document.getElementById("toasts").append(toast);
  leaveLater(toast);
}

// What the page came with stays if it is an error or a warning, and can be closed.
for (const toast of document.querySelectorAll(".toast:not(.error, .warning)")) leaveLater(toast);
