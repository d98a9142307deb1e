// Texts in the reader's language. Other languages than English come as a catalogue, a script that runs before (see base.html).
const catalogue = window.django ?? {};

/** @param {string} text in English @returns {string} */
export const gettext = catalogue.gettext ?? ((text) => text);

/** @param {string} one @param {string} many @param {number} count @returns {string} */
export const ngettext = catalogue.ngettext ?? ((one, many, count) => (count === 1 ? one : many));

/** Put values into a text: "%(count)s changes". @param {string} text @param {Object<string, any>} values */
export const filled = (text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => values[name]);
