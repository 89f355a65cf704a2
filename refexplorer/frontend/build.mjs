// Bundles one ES module per view into the package; `--watch` rebuilds on every change.
import { build, context } from "esbuild";

const options = {
  entryPoints: {
    explorer: "src/explorer/index.tsx",
    editor: "src/editor/index.tsx",
    page: "src/page/index.tsx",
  },
  outdir: "../widgets/static",
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "linked",
  loader: { ".css": "text" },
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "info",
};

if (process.argv.includes("--watch")) {
  await (await context(options)).watch();
} else {
  await build(options);
}
