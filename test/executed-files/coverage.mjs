import { Session } from "node:inspector";
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** The built files of the product, wherever a workspace lies. */
const BUILT = /^(apps|packages|infra)\/[^/]+\/dist\/.*\.js$/;

/** V8's precise coverage of this process, by windows. */
export function startCoverage() {
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return {
    /**
     * The product's functions that were called since the last time, as `path`, function and offset with tabs between. It is
     * synchronous, so a window may end in the middle of a function's run.
     */
    take() {
      const called = new Set();
      session.post("Profiler.takePreciseCoverage", (error, answer) => {
        if (error !== null) throw new Error(`Cannot take the coverage: ${error.message}`);
        for (const { url, functions } of answer.result) {
          const path = sourcePath(url);
          if (path === undefined) continue;
          for (const { functionName, ranges } of functions) {
            const [{ count, startOffset }] = ranges;
            // What begins the file is the module itself, which runs when it is imported.
            if (count > 0 && startOffset > 0)
              called.add([path, functionName, startOffset].join("\t"));
          }
        }
      });
      return called;
    },
  };
}

/** What every window has: a timer that ran beside one of them is in that one alone. */
export function inEvery(windows) {
  const [first, ...others] = windows;
  return [...first].filter((called) => others.every((window) => window.has(called)));
}

/** The source of a built file of the product, from the root of the repo; undefined for another's. */
function sourcePath(url) {
  const path = url.startsWith("file:") ? fileURLToPath(url) : url;
  const inRepo = relative(ROOT, path).split(sep).join("/");
  if (!BUILT.test(inRepo)) return undefined;
  return inRepo.replace("/dist/", "/src/").replace(/\.js$/, ".ts");
}
