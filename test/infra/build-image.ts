import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runProgram } from "../support/millrace-process.ts";
import { contextFiles, ROOT } from "./context.ts";
import { lastStep, parseDockerfile, type Stage, type Step } from "./dockerfile.ts";

export type BuiltImage = Awaited<ReturnType<typeof buildImage>>;

type Shortcut = (folder: string) => Promise<void>;

const SHORTCUTS: Readonly<Record<string, Shortcut>> = {
  "npm ci": (folder) => symlink(join(ROOT, "node_modules"), join(folder, "node_modules")),
  "npx turbo run build --filter=@millrace/cli --filter=millrace": copyBuilt,
};

/**
 * Takes the steps of the Dockerfile as an engine would, each stage in a folder of its own. The base
 * image, its user, and layers are missing; tools and build are those of this repository.
 */
export async function buildImage() {
  const stages = parseDockerfile(await readFile(join(ROOT, "infra", "Dockerfile"), "utf8"));
  const scratch = await mkdtemp(join(tmpdir(), "millrace-image-"));
  // Another user runs what lies below.
  await chmod(scratch, 0o755);
  const folderOf = (stage: string) => join(scratch, stage);
  for (const stage of stages) {
    await mkdir(folderOf(stage.name ?? ""), { recursive: true });
    for (const step of stage.steps) await take(step, stage, folderOf);
  }
  const last = stages.at(-1);
  if (last === undefined) throw new Error("Cannot build the image: the Dockerfile has no stage");
  const folder = folderOf(last.name ?? "");
  const [, bin = ""] = lastStep(last, "ENTRYPOINT")?.args ?? [];
  return {
    folder,
    env: environmentOf(last, folder),
    bin: join(folder, bin),
    remove: () => rm(scratch, { recursive: true, force: true }),
  };
}

type FolderOf = (stage: string) => string;

async function take(step: Step, stage: Stage, folderOf: FolderOf): Promise<void> {
  const folder = folderOf(stage.name ?? "");
  if (step.name === "COPY") return await copy(step, { folder, folderOf });
  if (step.name !== "RUN") return;
  const shortcut = SHORTCUTS[step.text];
  if (shortcut !== undefined) return await shortcut(folder);
  await run(step.text, folder);
}

async function copy(
  { args, flags }: Step,
  { folder, folderOf }: { folder: string; folderOf: FolderOf },
): Promise<void> {
  const target = join(folder, args.at(-1) ?? "");
  const sources = args.slice(0, -1);
  const { from } = flags;
  if (from !== undefined) {
    for (const source of sources) {
      const path = source.replace(/^\/app\b/, folderOf(from));
      await cp(path, target, { recursive: true, verbatimSymlinks: true });
    }
    return;
  }
  const files = await contextFiles();
  for (const source of sources) {
    const isWanted = (file: string) => source === "." || `${file}/`.startsWith(`${source}/`);
    for (const file of files.filter(isWanted)) await copyFile(file, folder);
  }
}

async function copyFile(file: string, folder: string): Promise<void> {
  await mkdir(dirname(join(folder, file)), { recursive: true });
  await cp(join(ROOT, file), join(folder, file));
}

async function run(command: string, cwd: string): Promise<void> {
  // The lockfile's hashes say what is installed; where it comes from does not matter.
  const env = { NPM_CONFIG_PREFER_OFFLINE: "true" };
  const { code, output } = await runProgram("sh", ["-c", command], env, { cwd, ipc: false });
  if (code !== 0) throw new Error(`Cannot run "${command}": it ended with ${code}\n${output}`);
}

async function copyBuilt(folder: string): Promise<void> {
  const manifests = (await contextFiles()).filter((file) => file.endsWith("/package.json"));
  const folders = manifests.map((manifest) => join(dirname(manifest), "dist"));
  for (const dist of folders.filter((path) => existsSync(join(ROOT, path)))) {
    await cp(join(ROOT, dist), join(folder, dist), { recursive: true });
  }
}

function environmentOf(stage: Stage, folder: string): Record<string, string> {
  const words = stage.steps.filter(({ name }) => name === "ENV").flatMap(({ args }) => args);
  const pairs = words.map((word) => word.split("=") as [string, string]);
  return Object.fromEntries(
    pairs.map(([name, value]) => [name, value.replace(/^\/app\b/, folder)]),
  );
}
