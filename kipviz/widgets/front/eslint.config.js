// Mistakes that types do not show. Names that are not there are left to tsc, which knows the browser's.
import js from "@eslint/js";

export default [
  js.configs.recommended,
  {
    rules: {
      "no-undef": "off",
      // Texts of a run may hold control characters: the patterns that take them out have to name them.
      "no-control-regex": "off",
      // A parameter that a subclass uses, or that stands before a used one, begins with a low line.
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      eqeqeq: "error",
      "no-sequences": "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
