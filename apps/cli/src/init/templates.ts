import { secretVariable, type SourceDefinition } from "@millrace/core";
import { senders } from "@millrace/providers";

const PUBLIC_URL = "https://example.com";
const OPTIONS: Readonly<Record<string, object>> = {
  googlePubsub: {
    audience: `${PUBLIC_URL}/webhooks/google-pubsub`,
    serviceAccount: "push@example.com",
  },
};

const { hmac: _, ...named } = senders;
const makers = Object.entries(named) as unknown as [
  string,
  (options?: object) => SourceDefinition,
][];

/** The senders that `millrace init` knows, by their provider's name, which their source gets. */
export const STARTERS = Object.fromEntries(
  makers.map(([factory, make]) => {
    const { provider: made } = make(OPTIONS[factory]);
    const provider = made.at?.(PUBLIC_URL) ?? made;
    const signsUrl = made.at !== undefined;
    return [provider.name, { factory, options: optionsCode(factory), signsUrl, provider }];
  }),
);

function optionsCode(factory: string): string {
  const fields = Object.entries(OPTIONS[factory] ?? {}).map(
    ([key, value]) => `${key}: ${JSON.stringify(value)}`,
  );
  return fields.length === 0 ? "" : `{ ${fields.join(", ")} }`;
}

export function projectFiles(sources: readonly string[]): Readonly<Record<string, string>> {
  return {
    "millrace.config.ts": config(sources),
    "handlers.ts": handlers(sources),
    "migrations/0001_deliveries.sql": MIGRATION,
    ".env.example": environment(sources),
    ".oxlintrc.json": LINT,
  };
}

/** Millrace loads TypeScript itself, and `npm init -y` writes `commonjs`: hence a bundler's. */
export const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2023",
    "module": "esnext",
    "moduleResolution": "bundler",
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "exactOptionalPropertyTypes": true,
    "verbatimModuleSyntax": true,
    "allowImportingTsExtensions": true,
    "noEmit": true,
    "skipLibCheck": true
  }
}
`;

/** Finds a query, step, or emit that is not awaited, in the editor too: drizzle's are thenables. */
const LINT = `{
  "options": { "typeAware": true },
  "rules": { "typescript/no-floating-promises": ["error", { "checkThenables": true }] }
}
`;

/** Lines that a project's `.gitignore` must have: secrets and data stay out of it. */
export const IGNORED = [".env", ".millrace/", "node_modules/"] as const;

function config(sources: readonly string[]): string {
  const factories = sources.map((source) => STARTERS[source]?.factory ?? source);
  const lines = sources.map((source) => {
    const { factory = source, options = "" } = STARTERS[source] ?? {};
    const key = /^[a-z]\w*$/.test(source) ? source : `"${source}"`;
    return `    ${key}: ${factory}(${options}), // posts to /webhooks/${source}`;
  });
  const publicUrl = sources.some((source) => STARTERS[source]?.signsUrl)
    ? `  publicUrl: "${PUBLIC_URL}", // as the senders reach /webhooks\n`
    : "";
  return `import { ${["defineConfig", ...factories].join(", ")} } from "millrace";

export default defineConfig({
  sources: {
${lines.join("\n")}
  },
${publicUrl}  handlers: () => import("./handlers.ts"),
  migrations: "./migrations",
});
`;
}

function handlers(sources: readonly string[]): string {
  const each = sources.map((source) => {
    const type = STARTERS[source]?.provider.sampleTypes[0] ?? "example";
    return `  on("${source}", "${type}", async (event, { tx }) => {
    await tx.execute(sql\`
      INSERT INTO handled_events (source, event_id, type) VALUES (\${event.source}, \${event.id}, \${event.type})
      ON CONFLICT DO NOTHING -- a replay runs the event again
    \`);
  }),`;
  });
  return `import { sql } from "drizzle-orm";
import { defineHandlers } from "millrace";
import type config from "./millrace.config.ts";

// It knows the config: a source or a type that is misspelled does not compile. A payload is
// unknown until a schema, or a type of the sender's package in the config, says what it is.
const on = defineHandlers<typeof config, unknown>();

// A handler runs in a transaction of its own, \`tx\`: what it writes is there exactly when the
// event is completed. Throw, and it is undone and tried again. Events may come in any order.
export default [
${each.join("\n\n")}
];
`;
}

const MIGRATION = `-- Your own tables. \`millrace start\` and \`millrace migrate\` apply these files in order, once each.
CREATE TABLE handled_events (
  source text NOT NULL,
  event_id text NOT NULL,
  type text NOT NULL,
  handled_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (source, event_id)
);
`;

function environment(sources: readonly string[]): string {
  const secrets = sources.map((source) => `# ${secretVariable(source)}=`);
  return `# Copy to .env. \`millrace start\` provides what is not set: secrets, a Postgres, a queue on it.
# DATABASE_URL=postgres://user:password@127.0.0.1:5432/app
# REDIS_URL=redis://127.0.0.1:6379
# MILLRACE_QUEUE_KEY=
${secrets.join("\n")}
`;
}
