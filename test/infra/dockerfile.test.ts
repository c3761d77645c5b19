import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { validate } from "dockerfile-utils";
import { beforeAll, expect, test } from "vitest";
import { contextFiles, readIgnore, ROOT } from "./context.ts";
import { lastStep, parseDockerfile, type Stage } from "./dockerfile.ts";

let text: string;
let stages: readonly Stage[];
beforeAll(async () => {
  text = await readFile(join(ROOT, "infra", "Dockerfile"), "utf8");
  stages = parseDockerfile(text);
});

test("its form is right", () => {
  expect(validate(text)).toEqual([]);
  expect(text).toMatch(/^ARG NODE_IMAGE=node:[\w.-]+@sha256:[0-9a-f]{64}$/m);
});

test("the context has the manifest of every workspace, or npm ci would refuse the lockfile", async () => {
  const lock = JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Record<string, unknown>;
  };
  const workspaces = Object.keys(lock.packages).filter((path) => !path.includes("node_modules"));
  const manifests = workspaces.map((path) => (path === "" ? "" : `${path}/`) + "package.json");
  expect(manifests.length).toBeGreaterThan(10);
  expect(await contextFiles()).toEqual(expect.arrayContaining(manifests));
});

test("nothing that is secret, built or installed gets into the context", async () => {
  const isIgnored = await readIgnore();
  const kept = [
    ...[".env", "apps/cli/.env", ".git/config", ".millrace/secrets.json", "infra/env/ingress.env"],
    ...[
      "node_modules/pg/package.json",
      "apps/cli/node_modules/x.js",
      "packages/core/dist/index.js",
    ],
    ...["apps/cli/src/printable.test.ts", "apps/worker/.millrace/run.json", "README.md"],
  ].filter((path) => !isIgnored(path));
  expect(kept).toEqual([]);
});

test("it runs as another user than root, who owns nothing in it", () => {
  const runtime = stages.at(-1);
  expect(lastStep(runtime, "USER")?.args).toEqual(["node"]);
  const owners = stages.flatMap(({ steps }) => steps.flatMap(({ flags }) => flags["chown"] ?? []));
  expect(owners).toEqual([]);
});

test("its health check is a file of the image, and asks whether the process lives", () => {
  const check = lastStep(stages.at(-1), "HEALTHCHECK");
  expect(check?.args).toEqual(["node", "infra/healthcheck.mjs", "/healthz"]);
});

test("the page's image of a project installs before it copies, and has no secret", async () => {
  const page = await readFile(join(ROOT, "docs", "deployment.md"), "utf8");
  const blocks = [...page.matchAll(/^```(?:dockerfile)?\n(.*?)^```$/gms)];
  const [, dockerfile = "", ignored = ""] = blocks.map(([, block = ""]) => block);
  expect(validate(dockerfile)).toEqual([]);
  const [stage] = parseDockerfile(dockerfile);
  const steps = stage?.steps.map(({ name, text: step }) => `${name} ${step}`) ?? [];
  // The packages before the project, so that a changed handler installs nothing anew.
  const first = steps.findIndex((step) => step.startsWith("RUN npm ci"));
  expect(steps[first - 1]).toBe("COPY package.json package-lock.json ./");
  expect(steps.indexOf("COPY . .")).toBeGreaterThan(first);
  expect(lastStep(stage, "USER")?.text).toBe("node");
  expect(ignored.split("\n")).toEqual(
    expect.arrayContaining([".env*", "*.env", ".millrace", "node_modules"]),
  );
});
