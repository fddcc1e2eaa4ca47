import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** What a first visit may load of script, compressed. Charts come later, on the device's page. */
const scriptBudget = 60 * 1024;
const dist = join(import.meta.dirname, "../internal/ui/dist");

/** What is in the script besides our own code: their licences want to be handed on with it. */
const embedded = ["preact", "@preact/signals", "@preact/signals-core", "uplot"];

function licences(): Plugin {
  return {
    name: "licences",
    apply: "build",
    generateBundle() {
      const texts = embedded.map((name) => {
        const folder = join(import.meta.dirname, "node_modules", name);
        const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
        return `${name} ${version}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n`;
      });
      this.emitFile({ type: "asset", fileName: "licences.txt", source: texts.join("\n\n") });
    },
  };
}

/** Writes each file compressed next to it, and fails where the script has grown beyond its budget. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    closeBundle() {
      let script = 0;
      for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
        if (!/\.(html|js|css|svg|txt)$/.test(name)) continue;
        const path = join(dist, name);
        const text = readFileSync(path);
        const br = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
        const gz = gzipSync(text, { level: 9 });
        writeFileSync(path + ".br", br);
        writeFileSync(path + ".gz", gz);
        if (name.endsWith(".js") && !name.includes("charts")) script += gz.length;
      }
      const size = `${(script / 1024).toFixed(1)} KB of script with gzip, charts apart`;
      if (script > scriptBudget) throw new Error(`${size}: more than ${scriptBudget / 1024} KB`);
      console.log(size);
    },
  };
}

export default defineConfig({
  plugins: [licences(), compressed()],
  build: {
    outDir: dist,
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0, // the policy of the page allows no data in scripts and styles
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 300,
  },
  test: { include: ["src/**/*.test.ts"] },
  server: {
    proxy: {
      "/api": { target: process.env.ANDON_URL ?? "http://127.0.0.1:8080", changeOrigin: true },
      "/docs": { target: process.env.ANDON_URL ?? "http://127.0.0.1:8080" },
    },
  },
});
