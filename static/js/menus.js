// Menus close when one looks elsewhere; dialogs open by a button; toasts can be closed, and leave by themselves.
const TOAST_MS = 8000;

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

// A menu that is fetched when it opens may reach below what is in view.
document.body.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
  if (target.closest?.(".menu[open]")) target.scrollIntoView({ block: "nearest" });
});

// Of tabs that don't fit, the one that is open is in view.
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

for (const opener of document.querySelectorAll("[data-open]")) opener.hidden = false;

export function leaveLater(toast) {
  if (toast.matches(".error, .warning")) return;
  setTimeout(() => toast.matches(":hover, :focus-within") ? leaveLater(toast) : toast.remove(), TOAST_MS);
}

export function say(text, level = "info") {
  const toasts = document.getElementById("toasts");
  if ([...toasts.children].some((toast) => toast.textContent === text)) return;
  const toast = document.createElement("li");
  toast.className = `toast ${level}`;
  toast.append(text);
  toasts.append(toast);
  const long = level === "error" ? 2 * TOAST_MS : TOAST_MS;
  setTimeout(() => toast.remove(), long);
}

/** Say something that one can answer with a button. @param {string} text @param {string} label @param {() => void} action */
export function sayWith(text, label, action) {
  const toast = document.createElement("li");
  const [words, button] = [document.createElement("span"), document.createElement("button")];
  toast.className = "toast info";
  words.textContent = text;
  Object.assign(button, { type: "button", className: "button quiet", textContent: label });
  button.addEventListener("click", () => { toast.remove(); action(); });
  toast.append(words, button);
  document.getElementById("toasts").append(toast);
  leaveLater(toast);
}

document.querySelectorAll(".toast").forEach(leaveLater);
