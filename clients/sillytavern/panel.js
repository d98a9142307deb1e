// The extension's part of SillyTavern's settings.
import { button, element } from "./elements.js";
import { saveAddress } from "./settings.js";

const ICONS = {
  off: "fa-circle-minus", ok: "fa-circle-check", busy: "fa-hourglass-half", offline: "fa-cloud", trouble: "fa-triangle-exclamation",
  gone: "fa-triangle-exclamation",
};

/** Put the panel into the settings. @param {import("./companion.js").Companion} companion @returns {() => void} draws it */
export function addPanel(companion) {
  const status = element("div", { class: "loci-status", role: "status" });
  const decisions = element("div", { class: "loci-decisions" });
  const stores = checkbox("Store this chat in Loci", (checked) => companion.choose(checked));
  const body = element("div", { class: "inline-drawer-content" },
    ...connectionFields(companion), status, decisions, stores.label, ...generalFields(companion));
  const head = element("div", { class: "inline-drawer-toggle inline-drawer-header" },
    element("b", {}, "Loci"), element("div", { class: "inline-drawer-icon fa-solid fa-circle-chevron-down down" }));
  const panel = element("div", { id: "loci_settings", class: "extension_container" }, element("div", { class: "inline-drawer" }, head, body));
  document.querySelector("#extensions_settings2")?.append(panel);
  return () => {
    stores.input.checked = !companion.isOff;
    stores.input.disabled = !companion.place || !companion.api;
    drawStatus(companion, status);
    drawDecisions(companion, decisions);
  };
}

function connectionFields(companion) {
  const { settings, context } = companion;
  const url = element("input", { class: "text_pole", type: "url", value: settings.url, id: "loci_url" });
  const token = element("input", { class: "text_pole", type: "password", value: settings.token, id: "loci_token", autocomplete: "off" });
  const connect = () => {
    saveAddress(settings, url.value, token.value);
    context.saveSettingsDebounced();
    return companion.connect();
  };
  for (const field of [url, token]) field.addEventListener("change", connect);
  return [
    element("label", { htmlFor: "loci_url" }, "Address of Loci"), url,
    element("label", { htmlFor: "loci_token" }, "API token, with write access"), token,
    element("div", { class: "loci-row" }, button("fa-plug", "Connect", connect)),
  ];
}

function generalFields(companion) {
  const option = (name, text, changed) => {
    const { input, label } = checkbox(text, (checked) => {
      companion.settings[name] = checked;
      companion.context.saveSettingsDebounced();
      changed();
    });
    input.checked = companion.settings[name];
    return label;
  };
  const redraw = () => companion.dispatchEvent(new CustomEvent("changed"));
  return [
    option("auto", "Store every chat that I open", () => companion.follow()),
    option("cards", "Show what was recalled below my turns", redraw),
    option("enabled", "Use Loci", () => companion.connect()),
  ];
}

function checkbox(text, change) {
  const input = element("input", { type: "checkbox", change: () => change(input.checked) });
  return { input, label: element("label", { class: "checkbox_label" }, input, element("span", {}, text)) };
}

function drawStatus({ status, mirror, settings }, place) {
  const { done, total } = mirror?.progress ?? { done: 0, total: 0 };
  const bar = total > 1 ? element("progress", { value: done, max: total, "aria-label": "Messages stored" }) : null;
  const link = mirror ? element("a", { href: `${settings.url}/chats/${mirror.chatId}/`, target: "_blank", rel: "noopener" }, "Open in Loci") : null;
  place.dataset.kind = status.kind;
  place.replaceChildren(...[
    element("i", { class: `fa-solid ${ICONS[status.kind]}`, "aria-hidden": "true" }), element("span", {}, status.text), bar, link,
  ].filter(Boolean));
}

/** What only a person can decide. */
function drawDecisions(companion, place) {
  const { mirror, status } = companion;
  const asked = mirror?.troubles.map(troubleOf) ?? [];
  if (mirror?.heldDeletions) {
    asked.push(element("div", { class: "loci-row" }, button("fa-trash-can", "Delete them in Loci", () => {
      mirror.allowDeletions();
      companion.reconcile();
    })));
  }
  if (mirror?.differing && status.kind === "ok") {
    asked.push(element("div", { class: "loci-row" }, button("fa-upload", "Make Loci's chat like this one", () => {
      mirror.overwrite();
      companion.reconcile();
    })));
  }
  if (status.kind === "gone") asked.push(element("div", { class: "loci-row" }, button("fa-upload", "Store it again", () => companion.storeAgain())));
  place.replaceChildren(...asked);
}

function troubleOf({ type, mine, theirs, problem, resolve, retry, discard }) {
  if (type === "refused") {
    return element("div", { class: "loci-trouble" }, element("p", {}, problem?.detail ?? "Loci doesn't accept a change."),
      element("div", { class: "loci-row" }, button("fa-rotate", "Try again", retry), button("fa-xmark", "Leave it out", discard)));
  }
  return element("div", { class: "loci-trouble" },
    element("p", {}, "The same text was changed here and in Loci."),
    element("b", {}, "Here"), element("blockquote", {}, shortened(mine)), element("b", {}, "In Loci"), element("blockquote", {}, shortened(theirs)),
    element("div", { class: "loci-row" }, button("fa-comment", "Take what is here", () => resolve(mine)),
      button("fa-cloud", "Leave it in Loci", discard)));
}

const shortened = (value) => {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  return text.length > 600 ? `${text.slice(0, 600)} …` : text;
};
