// A field above a long form of settings: as one types, only the settings stay that have the words, and their groups open.
import { gettext } from "./words.js";

function add(form) {
  const groups = [...form.querySelectorAll(".setting-group")];
  const rows = [...form.querySelectorAll(".setting")];
  const texts = new Map(rows.map((row) => [row, textOf(row)]));
  const open = groups.map((group) => group.open);
  const field = Object.assign(document.createElement("input"), {
    type: "search",
    className: "setting-filter",
    placeholder: gettext("Find a setting"),
    ariaLabel: gettext("Find a setting"),
    autocomplete: "off",
  });

  field.addEventListener("input", (event) => {
    event.stopPropagation();
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => texts.get(row).includes(word));
    groups.forEach((group, number) => {
      const found = group.querySelector(".setting:not([hidden])");
      // Of groups of one name only one can be open.
      if (words.length) group.removeAttribute("name");
      group.hidden = !found;
      group.open = words.length ? Boolean(found) : open[number];
    });
    if (!words.length) for (const group of groups) group.setAttribute("name", "setting-group");
  });
  field.addEventListener("change", (event) => event.stopPropagation());
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
  form.prepend(field);
}

function textOf(row) {
  const title = row.closest(".setting-group")?.querySelector("h2")?.textContent ?? "";
  return `${title} ${row.querySelector("label").textContent} ${row.querySelector(".field-help")?.textContent ?? ""}`.toLowerCase();
}

for (const form of document.querySelectorAll("[data-setting-filter]")) add(form);
