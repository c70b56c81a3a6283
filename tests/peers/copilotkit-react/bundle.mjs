// Makes a program of the page and each generation of CopilotKit, as a page's own build would: `bundle.mjs HOME`.
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

// react-core is the one that this react-ui rests on: two of them would not share a context.
const RESTED_ON = /^@copilotkit\/react-core(\/|$)/;
// Large, and no part of these pages. The largest is not even installed: package.json puts an empty one there.
const UNUSED = /^(mermaid|streamdown|@modelcontextprotocol\/sdk)(\/|$)/;

const home = process.argv[2];
const modules = `${home}/node_modules`;
const { build } = createRequire(`${home}/package.json`)("esbuild");

async function bundle(generation) {
  const generations = {
    name: "generations",
    setup(building) {
      // Not every package, and not every part of one, is there in every generation.
      const found = async (path, kind, resolveDir) => {
        const one = await building.resolve(path, { kind, resolveDir, pluginData: "found" });
        return one.errors.length > 0 ? { path, namespace: "absent" } : one;
      };
      building.onResolve({ filter: /^@copilotkit\// }, ({ path, kind, importer, pluginData }) => {
        if (pluginData === "found" || importer.includes("/node_modules/")) return undefined;
        if (RESTED_ON.test(path)) return found(path, kind, `${modules}/copilotkit-ui-${generation}`);
        const [, name] = path.split("/");
        return found(`${name.replace("react-", "copilotkit-")}-${generation}`, kind, home);
      });
      building.onResolve({ filter: UNUSED }, ({ path }) => ({ path, namespace: "absent" }));
      building.onLoad({ filter: /.*/, namespace: "absent" }, () => ({ contents: "module.exports = {}" }));
    },
  };
  await build({
    entryPoints: [fileURLToPath(new URL("./page.jsx", import.meta.url))],
    outfile: `${home}/built/${generation}.mjs`,
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "node20",
    jsx: "automatic",
    nodePaths: [modules],
    plugins: [generations],
    define: { "process.env.NODE_ENV": '"production"', GENERATION: JSON.stringify(generation) },
    loader: { ".css": "empty", ".woff": "empty", ".woff2": "empty", ".ttf": "empty" },
    logLevel: "error",
  });
}

const found = readdirSync(modules).filter((name) => name.startsWith("copilotkit-ui-"));
await Promise.all(found.map((name) => bundle(name.replace("copilotkit-ui-", ""))));
