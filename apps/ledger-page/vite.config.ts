import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  // Next to the package's entry point, which tsc writes into `dist` itself.
  build: {
    outDir: "dist/page",
    emptyOutDir: true,
    target: "es2022",
    // The dashboard's policy takes no data: URLs and no script in the page itself.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      // "use client" speaks to servers that render React; there is none here.
      onwarn: (warning, warn) => {
        if (warning.code !== "MODULE_LEVEL_DIRECTIVE") warn(warning);
      },
    },
  },
  esbuild: { jsx: "automatic" },
});
