import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["static/built/", "static/vendor/", "staticfiles/"] },
  js.configs.recommended,
  {
    files: ["static/js/**/*.js"],
    languageOptions: { globals: { ...globals.browser, htmx: "readonly" } },
    rules: { "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_$", ignoreRestSiblings: true }], eqeqeq: ["error", "smart"], "prefer-const": "error" },
  },
  {
    files: ["clients/sillytavern/**/*.js"],
    languageOptions: { globals: { ...globals.browser, SillyTavern: "readonly" } },
    rules: { "no-unused-vars": ["error", { argsIgnorePattern: "^_", ignoreRestSiblings: true }], eqeqeq: ["error", "smart"], "prefer-const": "error" },
  },
  { files: ["tests/js/**/*.mjs"], languageOptions: { globals: { ...globals.browser, ...globals.node } } },
];
