// Buttons that copy a text of the page, and say so. They are hidden until this has loaded.
import { say } from "./menus.js";
import { gettext } from "./words.js";

/**
 * Select a text, so that it can be copied by hand where the browser lets no script do it.
 * @param {HTMLElement} element
 */
function select(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  const selection = window.getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
}

for (const button of document.querySelectorAll("[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      say(gettext("Copied."));
    } catch { // by plain HTTP, browsers have no clipboard for scripts
      select(source);
      say(document.execCommand("copy") ? gettext("Copied.") : gettext("It is selected: copy it with Ctrl+C."));
    }
  });
}
