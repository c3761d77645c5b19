import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { loadConfig } from "@millrace/service";
import { parse } from "yaml";
import { STORE_CONFIG } from "../support/run-in-process.ts";
import { ROOT } from "./context.ts";

export interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly env_file?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly stop_grace_period?: string;
  readonly restart?: string;
  readonly init?: boolean;
  readonly read_only?: boolean;
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

const INFRA = join(ROOT, "infra");

export async function readComposeFile(): Promise<ComposeFile> {
  const text = await readFile(join(INFRA, "compose.yaml"), "utf8");
  const withDefaults = text.replaceAll(/\$\{[A-Z_]+:-([^}]*)\}/g, "$1");
  return parse(withDefaults.replaceAll("$$", "$"), { merge: true }) as ComposeFile;
}

export async function readExample(file: string): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(join(INFRA, `${file}.example`), "utf8");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf("=");
      if (at < 1) throw new Error(`Cannot read "${line}" of ${file}.example: no name=value`);
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}

export async function environmentOf(service: Service | undefined): Promise<Record<string, string>> {
  const files = await Promise.all((service?.env_file ?? []).map(readExample));
  return Object.assign({}, ...files) as Record<string, string>;
}

export function settingsOf(command: readonly string[]): [name: string, value: string][] {
  return command.flatMap((word, index) => {
    if (command[index - 1] !== "-c") return [];
    const [name = "", value = ""] = word.split("=");
    return [[name, value] as [string, string]];
  });
}

/** In milliseconds, by role: its own time, and what it undoes, enqueues, and closes after it. */
export async function timesToStop(): Promise<Readonly<Record<string, number>>> {
  const { config } = await loadConfig(STORE_CONFIG);
  return {
    ingress: config.ingress.shutdownTimeoutMs + 5_000,
    worker: config.worker.shutdownTimeoutMs + 10_000,
    dashboard: 5_000 + 5_000,
  };
}
