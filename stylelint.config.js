/** What is checked is what can be wrong; layout and order are the author's. */
export default {
  extends: ["stylelint-config-standard"],
  rules: {
    "no-descending-specificity": null,
    "custom-property-empty-line-before": null,
    "value-keyword-case": ["lower", { camelCaseSvgKeywords: true, ignoreProperties: [/^--font/, "font-family"] }],
    "number-max-precision": null,
  },
};
