// Memories chosen in a list: how many they are, all at once, a range with Shift, and nothing to press while none is.
import { filled, gettext } from "./words.js";

const bar = document.querySelector("form[data-chosen]");

const boxes = () => [...document.querySelectorAll(`input[type=checkbox][form="${bar.id}"]`)];

/** Show how many are chosen, on a page where memories can be. */
export function countChosen() {
  if (bar) show();
}

function show() {
  const all = boxes();
  const count = all.filter((box) => box.checked).length;
  const chooseAll = bar.querySelector("[data-choose-all]");
  bar.querySelector("[data-count]").textContent = count ? filled(gettext("%(count)s chosen"), { count }) : gettext("Choose memories to change them together.");
  bar.querySelectorAll("button").forEach((button) => { button.disabled = count === 0; });
  bar.classList.toggle("has-chosen", count > 0);
  chooseAll.checked = count > 0 && count === all.length;
  chooseAll.indeterminate = count > 0 && count < all.length;
}

if (bar) {
  let last = null;
  bar.querySelector(".choose-all").hidden = false;
  bar.addEventListener("change", ({ target }) => {
    if (!target.matches("[data-choose-all]")) return;
    boxes().forEach((box) => { box.checked = target.checked; });
    show();
  });
  document.addEventListener("click", (event) => {
    const { target, shiftKey } = event;
    if (!target.matches(`input[type=checkbox][form="${bar.id}"]`)) return;
    const all = boxes();
    if (shiftKey && last) {
      const [from, to] = [all.indexOf(last), all.indexOf(target)].sort((one, other) => one - other);
      all.slice(Math.max(from, 0), to + 1).forEach((box) => { box.checked = target.checked; });
    }
    last = target;
    show();
  });
  document.body.addEventListener("htmx:afterSettle", show);
  window.addEventListener("pageshow", show);
  show();
}
