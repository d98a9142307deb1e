// Passkeys and security keys: the form's credential comes from the browser, then the form is sent.

/** Return the server's options: from the page, or for a sign-in by an address that is not known yet, from the server. */
async function optionsOf(form) {
  if (form.dataset.options) return JSON.parse(document.getElementById(form.dataset.options).textContent);
  const headers = { Accept: "application/json", "X-Requested-With": "XMLHttpRequest" };
  const response = await fetch(form.action, { headers });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}

async function create(options, form) {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options.creation_options.publicKey);
  const alone = form.elements.passwordless?.checked ?? false;
  publicKey.authenticatorSelection = {
    ...publicKey.authenticatorSelection,
    residentKey: alone ? "required" : "discouraged",
    requireResidentKey: alone,
    ...(alone && { userVerification: "required" }),
  };
  return navigator.credentials.create({ publicKey });
}

async function get(options) {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.request_options.publicKey);
  return navigator.credentials.get({ publicKey });
}

async function send(form) {
  const error = form.querySelector("[data-passkey-error]");
  error.hidden = true;
  try {
    const options = await optionsOf(form);
    const credential = await (form.dataset.passkey === "create" ? create(options, form) : get(options));
    form.elements.credential.value = JSON.stringify(credential.toJSON());
    form.submit();
  } catch {
    error.hidden = false; // cancelled, too late, or no such key: the browser has said why
  }
}

const knowsPasskeys = "parseCreationOptionsFromJSON" in (window.PublicKeyCredential ?? {});
for (const form of knowsPasskeys ? document.querySelectorAll("form[data-passkey]") : []) {
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
}
for (const notice of knowsPasskeys ? document.querySelectorAll("[data-no-passkeys]") : []) notice.hidden = true;
