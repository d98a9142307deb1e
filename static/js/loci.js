// What the pages do beyond links and forms. Each module looks for its own data attributes and minds nothing else.
// Served as one file with all that is imported: `make static`.
import "./theme.js";
import "./menus.js";
import "./requests.js";
import "./forms.js";
import "./keys.js";
import "./drop.js";
import "./chat-list.js";
import "./conversation.js";
import "./drafts.js";
import "./live.js";
import "./progress.js";
import "./recap.js";
import "./presets.js";
import "./remember.js";
import "./setting-filter.js";
import "./sliders.js";
import "./chosen.js";
import "./forgotten.js";
