// Small helpers for elements of a page.

/**
 * @param {string} tag @param {object} [properties] of the element; `class`, `title` and others that have no property are
 *   attributes, functions are listeners @param {...(Node | string | null)} children @returns {any}
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** A button as SillyTavern's. @param {string} icon of Font Awesome @param {string} text @param {() => any} click */
export function button(icon, text, click) {
  return element("div", {
    class: "menu_button menu_button_icon loci-button", role: "button", tabIndex: 0, click,
    keydown: (event) => { if (["Enter", " "].includes(event.key)) { event.preventDefault(); click(); } },
  }, element("i", { class: `fa-solid ${icon}`, "aria-hidden": "true" }), element("span", {}, text));
}
