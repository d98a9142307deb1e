// Colours, the size of the text and the key that sends take effect without a reload, and on one's other devices. The
// cookies are for the server's next page, and for those who aren't signed in.
import { SettingsSync } from "./sync/settings.js";
import { headers } from "./live/requests.js";

const YEAR = 365 * 24 * 3600;
const DEFAULTS = { theme: "auto", text_size: "normal", send_key: "ctrl-enter" };
const root = document.documentElement;
const { user } = document.body.dataset;
const forms = document.querySelectorAll("[data-theme-choice]");

function apply(name, value) {
  const isDefault = value === DEFAULTS[name];
  const kept = isDefault ? `${name}=; max-age=0` : `${name}=${encodeURIComponent(value)}; max-age=${YEAR}`;
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${kept}; path=/; samesite=lax${secure}`;
  root.toggleAttribute(attributeOf(name), !isDefault);
  if (!isDefault) root.setAttribute(attributeOf(name), value);
  for (const form of forms) {
    for (const button of form.querySelectorAll(`[name=${name}]`)) {
      button.setAttribute("aria-pressed", String(button.value === value));
    }
  }
}

const attributeOf = (name) => `data-${name.replace("_", "-")}`;

function follow() {
  const sync = new SettingsSync({ user, headers, live: document.querySelector(".room") !== null });
  sync.addEventListener("changed", ({ detail }) => {
    for (const name of detail.keys) if (name in DEFAULTS) apply(name, detail.settings[name] ?? DEFAULTS[name]);
  });
  sync.open();
  return sync;
}

const settings = user && forms.length ? follow() : null;

for (const form of forms) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { name, value } = event.submitter;
    apply(name, value);
    settings?.set(name, value);
    settings?.flush();
    form.closest("details")?.removeAttribute("open");
  });
}
