// Checks that imports point one way, as scripts/layers.mjs says:
// node scripts/check-layers.mjs [root]
import { readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { IO, LAYERS, PURE } from "./layers.mjs";
import { findWorkspaces } from "./workspaces.mjs";

const root = resolve(process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url))));
const workspaces = [...findWorkspaces(root)].map(([name, found]) => ({ ...found, name }));
const names = new Set(workspaces.map((workspace) => workspace.name));
const entryPoints = new Set(workspaces.flatMap(entryPointsOf));
const problems = workspaces.flatMap(checkWorkspace);
for (const problem of problems) console.log(problem);
console.log(`${workspaces.length} workspaces, ${problems.length} problems`);
process.exit(problems.length === 0 && workspaces.length > 0 ? 0 : 1);

/** The name of a workspace and the subpaths that its manifest exports: nothing else is imported. */
function entryPointsOf({ name, manifest }) {
  return [name, ...Object.keys(manifest.exports ?? {}).map((path) => `${name}${path.slice(1)}`)];
}

function checkWorkspace(workspace) {
  const { folder, name, manifest } = workspace;
  const allowed = LAYERS[name];
  const at = relative(root, join(folder, "package.json"));
  if (allowed === undefined) return [`${at}: ${name} has no layer in scripts/layers.mjs`];
  const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  const found = declared
    .filter((dependency) => names.has(dependency) && !mayImport(name, dependency))
    .map((dependency) => `${at}: ${name} may not depend on ${dependency}`);
  return [...found, ...sourceFiles(folder).flatMap((path) => checkFile(workspace, path))];
}

function checkFile(workspace, path) {
  const text = withoutComments(readFileSync(path, "utf8"));
  const isTest = workspace.name === "@millrace/test" || path.endsWith(".test.ts");
  const found = importsOf(text).flatMap((specifier) => {
    const problem = checkImport(workspace, path, specifier, isTest);
    return problem === undefined ? [] : [problem];
  });
  const readsEnvironment = /\bprocess\s*(\.env\b|\[\s*["']env["'])/.test(text);
  if (readsEnvironment && !isTest && !mayReadEnvironment(path)) {
    found.push("reads process.env; only main.ts does");
  }
  return found.map((problem) => `${relative(root, path)}: ${problem}`);
}

function checkImport({ name, folder }, path, specifier, isTest) {
  if (specifier.startsWith(".")) {
    const target = relative(folder, resolve(dirname(path), specifier));
    // The command's file loads what all packages are built into.
    const isBundle = name === "@millrace/cli" && specifier.endsWith("/bundle/main.js");
    const leaves = target.startsWith(`..${sep}`) && !isTest && !isBundle;
    return leaves ? `"${specifier}" leaves the package; import its name` : undefined;
  }
  const target = packageOf(specifier);
  if (names.has(target) && target !== name) {
    if (!entryPoints.has(specifier)) return `"${specifier}" is not an entry point of the package`;
    if (!isTest && !mayImport(name, target)) return `${name} may not import ${target}`;
  }
  if (PURE.includes(name) && !isTest && IO.test(specifier)) {
    return `${name} does no I/O, and imports "${specifier}"`;
  }
  return undefined;
}

function mayImport(name, dependency) {
  const allowed = LAYERS[name] ?? [];
  return allowed === "any" || allowed.includes(dependency);
}

// The examples are as a user writes, in whatever layout a framework wants.
function mayReadEnvironment(path) {
  const folders = relative(root, path).split(sep);
  return basename(path) === "main.ts" || folders.includes("bin") || folders[0] === "examples";
}

function packageOf(specifier) {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

function importsOf(text) {
  const pattern = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*["'`]([^"'`\n$]+)["'`]/g;
  return [...text.matchAll(pattern)].map((match) => match[1]);
}

function withoutComments(text) {
  return text.replaceAll(/^\s*\/\*[\s\S]*?\*\//gm, "").replaceAll(/^\s*\/\/.*$/gm, "");
}

function sourceFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      return ["node_modules", "dist", "bundle", ".turbo"].includes(entry.name)
        ? []
        : sourceFiles(path);
    }
    return /\.(ts|mts|mjs|js|tsx)$/.test(entry.name) ? [path] : [];
  });
}
