// Bundles src/ into ../static/stepper.js. The header carries a hash of everything that goes in,
// so that a test (without node) sees when the built file is older than its sources.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync, mkdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "static", "stepper.js");

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
    sum.update(path + "\0");
    sum.update(readFileSync(join(here, path)));
    sum.update("\0");
  }
  return sum.digest("hex");
}

// The style sheet goes in as a text, which the bundler leaves as it is; without its blanks it is a sixth smaller.
const smallStyle = {
  name: "small style",
  setup(bundler) {
    bundler.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
      return { contents: code, loader: "text" };
    });
  },
};

const result = await build({
  entryPoints: [join(here, "src", "index.js")],
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  plugins: [smallStyle],
  legalComments: "none",
  write: false,
});
const header =
  "// kipviz stepper, built from kipviz/widgets/front by `make front`; do not edit.\n" +
  "// SPDX-License-Identifier: Apache-2.0\n" +
  `// sources sha256 ${hash()}\n`;
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, header + result.outputFiles[0].text);
console.log(`${relative(process.cwd(), out)}: ${(header.length + result.outputFiles[0].contents.length) / 1000} kB`);
