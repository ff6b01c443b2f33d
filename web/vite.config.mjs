// One JavaScript module and one style sheet, for the page (inline) and for the notebook widget. The first line of each
// says from which source it was built; tests/unit/view/test_static.py compares.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vite";

const here = import.meta.dirname;
const sources = readdirSync(join(here, "src"), { recursive: true })
  .map((name) => `src/${name.replaceAll("\\", "/")}`)
  .filter((name) => /\.(ts|css)$/.test(name))
  .concat("package.json", "package-lock.json", "tsconfig.json", "vite.config.mjs")
  .sort();
const hash = createHash("sha256");
for (const name of sources) {
  hash.update(`${name}\n`);
  hash.update(readFileSync(join(here, name)));
}
const banner = `/*! winkel explorer, built from ${hash.digest("hex")} */\n`;

export default defineConfig({
  build: {
    outDir: join(here, "../src/winkel/view/static"),
    emptyOutDir: false, // the page of a running fit is there too, as it is written
    target: "es2022",
    cssTarget: "es2022",
    minify: true,
    rolldownOptions: { output: { minify: true } }, // a library would keep its spaces
    lib: { entry: join(here, "src/main.ts"), formats: ["es"], fileName: () => "explorer.js", cssFileName: "explorer" },
  },
  plugins: [
    {
      name: "banner",
      enforce: "post",
      generateBundle(_options, bundle) {
        for (const item of Object.values(bundle)) {
          if (item.type === "chunk") item.code = banner + item.code;
          else item.source = banner + item.source;
        }
      },
    },
  ],
});
