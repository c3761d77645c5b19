import { executablePath } from "./executable-path.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** Where a Chromium lies: what `CHROMIUM` names, else the first on PATH. */
export function chromiumPath(): string | undefined {
  const named = process.env["CHROMIUM"];
  if (named !== undefined && named !== "") return named;
  return NAMES.map((name) => executablePath(name, ["/usr/bin"])).find((path) => path !== undefined);
}
