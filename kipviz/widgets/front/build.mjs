// Bundles src/ into ../static/stepper.js and ../static/results.js. Their headers carry a hash of everything that goes in,
// so that a test (without node) sees when the built file is older than its sources.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync, mkdirSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const outOf = (name) => join(here, "..", "static", `${name}.js`);

function sources() {
  const found = ["build.mjs", "package.json"];
  const walk = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) walk(path);
      else found.push(relative(here, path).split("\\").join("/"));
    }
  };
  walk(join(here, "src"));
  return found.sort();
}

function hash() {
  const sum = createHash("sha256");
  for (const path of sources()) {
    sum.update(`${path}\0`);
    sum.update(readFileSync(join(here, path)));
    sum.update("\0");
  }
  return sum.digest("hex");
}

// The style sheets go in as texts, which the bundler leaves as they are: here they lose their blanks.
const minified = new Map(); // a style sheet's name -> its text as it goes in
const smallStyle = {
  name: "small style",
  setup(bundler) {
    bundler.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code: contents } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
      minified.set(basename(path), contents);
      return { contents, loader: "text" };
    });
  },
};

const bundled = (entry) => build({
  entryPoints: [join(here, "src", entry)],
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  plugins: [smallStyle],
  legalComments: "none",
  write: false,
});
const stepper = await bundled("index.js");
const results = await bundled("results.js"); // tables of a notebook, without the stepper
// In the order of src/styles/sheet.js; a saved page allows this style sheet by its hash.
const sheet = ["style.css", "narrow.css", "cards.css", "tools.css", "why.css", "print.css"].map((name) => minified.get(name)).join("");
const header = (name) =>
  `// kipviz ${name}, built from kipviz/widgets/front by \`make front\`; do not edit.\n` +
  "// SPDX-License-Identifier: Apache-2.0\n" +
  `// sources sha256 ${hash()}\n`;

function write(name, text) {
  const out = outOf(name);
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, text);
  console.log(`${relative(process.cwd(), out)}: ${Buffer.byteLength(text) / 1000} kB`);
}

write("stepper", `${header("stepper")}// sheet sha256-${createHash("sha256").update(sheet).digest("base64")}\n${stepper.outputFiles[0].text}`);
write("results", header("results") + results.outputFiles[0].text);
