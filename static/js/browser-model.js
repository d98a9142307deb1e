// The page “Model in the browser”: load the model or take a registered function, and run calls while the page is open.
import { CallRunner } from "./browser-model/calls.js";
import { loadWebLLM } from "./browser-model/web-llm.js";
import { filled, gettext, ngettext } from "./words.js";

const STATES = {
  waiting: gettext("Ready. Keep this page open: your model is waiting for work."),
  writing: gettext("Your model is writing."),
  offline: gettext("Loci can't be reached, or you have too many pages open. Trying again …"),
  "signed-out": gettext("Stopped: you have been signed out. Sign in, then load this page again."),
};
const panel = document.querySelector(".browser-model");

function start(panel) {
  const [state, progress, load, stop] = ["state", "progress", "load", "stop"].map((name) => panel.querySelector(`[data-${name}]`));
  let runner = null;
  let loading = null;
  let unload = null;

  const say = (text) => { if (state.textContent !== text) state.textContent = text; };
  const show = (isRunning) => {
    stop.hidden = !isRunning;
    if (load) load.hidden = isRunning;
  };

  function run(model) {
    halt();
    const own = new CallRunner(model);
    runner = own;
    own.addEventListener("state", ({ detail }) => {
      const count = own.replies;
      const replies = filled(ngettext("%(count)s reply so far.", "%(count)s replies so far.", count), { count });
      say(count ? `${STATES[detail]} ${replies}` : STATES[detail]);
    });
    say(gettext("Asking Loci for work …"));
    show(true);
    own.start();
  }

  function halt() {
    runner?.stop();
    unload?.();
    runner = loading = unload = null;
    progress.hidden = true;
    show(false);
  }

  async function loadModel() {
    if (!navigator.gpu) {
      say(gettext("This browser can't run a model: it has no WebGPU, or this page was not loaded by https or from localhost."));
      return;
    }
    const own = {};
    loading = own;
    show(true);
    progress.hidden = false;
    say(gettext("Loading the model …"));
    const onProgress = ({ progress: share }) => {
      if (loading !== own) return;
      progress.value = share;
      say(filled(gettext("Loading the model: %(percent)s %"), { percent: Math.floor(100 * share) }));
    };
    const { webLlm: url, model, context } = panel.dataset;
    try {
      const loaded = await loadWebLLM({ url, model, context: Number(context), onProgress });
      if (loading !== own) { loaded.unload(); return; }
      run(loaded.run);
      unload = loaded.unload;
    } catch (error) {
      if (loading !== own) return;
      halt();
      say(filled(gettext("The model can't be loaded. %(reason)s"), { reason: error?.message ?? error }));
    }
  }

  load?.addEventListener("click", loadModel);
  stop.addEventListener("click", () => { halt(); say(gettext("Stopped. No calls are run by this page.")); });
  show(false);
  window.loci = { registerModel: run };
}

if (panel) start(panel);
