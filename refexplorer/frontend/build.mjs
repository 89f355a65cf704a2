// Bundles one ES module per view into the package; `--watch` rebuilds on every change.
// Before that, the types of the messages are written where hatch_build.py has put what Python says of them.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { build, context, transform } from "esbuild";
import { quantize } from "topojson-client";

const outdir = "../hosts/static";
/** Style sheets as texts for the shadow roots, without spaces and comments. */
const styles = {
  name: "styles",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, "utf8"), { loader: "css", minify: true });
      return { contents: code, loader: "text" };
    });
  },
};
// What has a bundle of its own has an index.tsx; hatch_build.py finds them likewise.
const entries = (await readdir("src", { recursive: true })).filter((path) => /^[^/\\]+[/\\]index\.tsx$/.test(path));
const options = {
  entryPoints: entries.map((path) => ({ in: `src/${path}`, out: path.split(/[/\\]/)[0] })),
  outdir,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  plugins: [styles],
  jsx: "automatic",
  jsxImportSource: "preact",
  metafile: true,
  logLevel: "info",
};

/** The licences of the packages in the bundles, which have to travel with them. */
async function licences({ inputs }) {
  const folders = [...Object.keys(inputs), "node_modules/world-atlas/"].map(
    (path) => path.match(/^node_modules\/(@[^/]+\/)?[^/]+/)?.[0],
  );
  const texts = [...new Set(folders)]
    .filter(Boolean)
    .sort()
    .map(async (folder) => {
      const file = (await readdir(folder)).find((name) => /^licen[cs]e/i.test(name));
      const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
      return `${name} ${version} (${license})\n\n${file ? await readFile(`${folder}/${file}`, "utf8") : ""}`;
    });
  return (await Promise.all(texts)).join(`\n${"-".repeat(78)}\n\n`);
}

/** The types of the messages, made of their JSON Schema. */
async function types() {
  const { compile } = await import("json-schema-to-typescript");
  const schema = JSON.parse(await readFile("generated/protocol.json", "utf8"));
  const text = await compile(schema, "Protocol", {
    additionalProperties: false,
    bannerComment:
      "/** The messages between the views and Python. Made by the build of the signatures of the controllers. */",
    unreachableDefinitions: true,
  });
  await writeFile("generated/protocol.ts", text);
}

/** What the component files say of their views, as one list: whoever lists views imports that. */
async function views() {
  const paths = (await readdir("src", { recursive: true })).map((path) => path.replaceAll("\\", "/"));
  const said = await Promise.all(
    paths
      .filter((path) => path.endsWith(".tsx"))
      .sort()
      .map(async (path) => ((await readFile(`src/${path}`, "utf8")).includes("export const VIEW:") ? [path] : [])),
  );
  const found = said.flat();
  const lines = [
    'import type { ExplorerView } from "../src/explorer/view.ts";',
    ...found.map((path, i) => `import { VIEW as view${i} } from "../src/${path}";`),
    `export const VIEWS: readonly ExplorerView[] = [${found.map((_, i) => `view${i}`).join(", ")}];`,
  ];
  await mkdir("generated", { recursive: true });
  await writeFile("generated/views.ts", `${lines.join("\n")}\n`);
}

/** Natural Earth's land, which Python hands out when a map is first shown: it is in no bundle. */
async function land() {
  await mkdir(outdir, { recursive: true });
  await writeFile(`${outdir}/land-110m.json`, await readFile("node_modules/world-atlas/land-110m.json"));
  const fine = JSON.parse(await readFile("node_modules/world-atlas/land-50m.json", "utf8"));
  await writeFile(`${outdir}/land-50m.json`, JSON.stringify(quantize(absolute(fine), 1e4)));
}

/** A topology whose points are degrees. At 1:50 million its steps of 0.036 degrees are finer than the generalised coast, and weigh half. */
function absolute({ transform: { scale, translate }, arcs, ...others }) {
  const lines = arcs.map((arc) => {
    const at = [0, 0];
    return arc.map((step) => {
      step.forEach((by, side) => {
        at[side] += by;
      });
      return at.map((place, side) => place * scale[side] + translate[side]);
    });
  });
  return { ...others, arcs: lines };
}

/** The extension of JupyterLab: a script that leaves its entry where Lab looks for it. */
const extension = {
  ...options,
  entryPoints: [{ in: "src/lab/main.ts", out: "remoteEntry" }],
  outdir: "../labextension/static",
  format: "iife",
};

if (existsSync("generated/protocol.json")) await types();
await views();
await land();
if (process.argv.includes("--watch")) {
  for (const each of [options, extension]) await (await context(each)).watch();
} else {
  const { metafile } = await build(options);
  await build(extension);
  await writeFile(`${outdir}/LICENSES.txt`, await licences(metafile));
}
