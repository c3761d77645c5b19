import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PAGE = fileURLToPath(new URL("../../docs/start-checks.md", import.meta.url));

export type StartState = "refused" | "waits" | "warns" | "ready";

export interface SetUpRow {
  readonly setUp: string;
  readonly start: StartState;
  readonly role: "worker" | "dashboard";
  readonly printed: readonly string[];
  readonly doctor: { readonly mark: string; readonly name: string } | undefined;
  readonly told: readonly string[];
}

export function readSetUpTable(): SetUpRow[] {
  const [, , ...lines] = readFileSync(PAGE, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("|"));
  return lines.map((line) => {
    const [setUp = "", start = "", doctor = "", fix = ""] = line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim());
    const [, mark, name] = /^(BAD|note|\?|ok) ([a-z' ]+)/.exec(doctor) ?? [];
    return {
      setUp,
      role: /^\w+ by a dashboard\b/.test(start) ? "dashboard" : "worker",
      start: (/^\w+/.exec(start)?.[0] ?? "") as StartState,
      printed: quoted(start),
      doctor: mark === undefined || name === undefined ? undefined : { mark, name: name.trim() },
      told: doctor === "–" ? [] : [...quoted(doctor), ...quoted(fix)],
    };
  });
}

function quoted(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text);
}
