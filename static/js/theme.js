// The choice of colours takes effect without a reload; the cookie is for the server's next page.
const YEAR = 365 * 24 * 3600;

function choose(theme) {
  const kept = theme === "auto" ? "theme=; max-age=0" : `theme=${theme}; max-age=${YEAR}`;
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${kept}; path=/; samesite=lax${secure}`;
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

for (const form of document.querySelectorAll("[data-theme-choice]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    choose(event.submitter.value);
    for (const button of form.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button === event.submitter));
    }
    form.closest("details").open = false;
  });
}
