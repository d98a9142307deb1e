// Keys of the queue and of the page of a case in the admin site.

const DECISIONS = { d: "dismiss", h: "hide", s: "suspend", b: "ban" };

/** Return the links of the queue's rows. */
const links = () => [...document.querySelectorAll("#result_list tbody th a")];

/**
 * Move the focus among the rows.
 * @param {number} step 1 for the next, -1 for the previous
 */
function move(step) {
  const rows = links();
  const at = rows.findIndex((link) => link === document.activeElement);
  rows[Math.min(Math.max(at + step, 0), rows.length - 1)]?.focus();
}

/** Select or deselect the row that has the focus. */
function toggle() {
  document.activeElement?.closest("tr")?.querySelector("input.action-select")?.click();
}

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

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select")) return;
  const button = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "x") toggle();
  else if (event.key in DECISIONS) choose(DECISIONS[event.key]);
  else if (button) button.click();
  else return;
  event.preventDefault();
});
