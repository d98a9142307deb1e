// The extension's settings, which SillyTavern keeps with its own.
import { SERVER } from "./server.js";

const KEY = "loci";

/** auto: store each chat that is opened; off: by place, where that is chosen otherwise; installations: what is whose in Loci. */
const DEFAULTS = { url: SERVER, token: "", enabled: true, auto: true, cards: true, off: {}, installations: {} };

/** @param {object} extensionSettings of SillyTavern @returns {any} */
export function settingsIn(extensionSettings) {
  extensionSettings[KEY] = { ...structuredClone(DEFAULTS), ...extensionSettings[KEY] };
  return extensionSettings[KEY];
}

/** @param {object} settings @param {string} url as a person writes it @param {string} token */
export function saveAddress(settings, url, token) {
  const text = url.trim().replace(/\/+$/, "").replace(/\/(api\/v1|v1)$/, "");
  settings.url = text === "" || /^https?:\/\//i.test(text) ? text : `http://${text}`;
  settings.token = token.trim();
}
