import { isLoopback, MillraceError, readUrl, secretVariable } from "@millrace/core";

type Variables = Readonly<Record<string, string | undefined>>;

/** The environment and secrets of a process that starts. */
interface ExampleCheck {
  readonly env: Variables;
  readonly host: string;
  readonly secrets?: Readonly<Record<string, readonly string[]>>;
}

/**
 * Refuses secrets that Millrace's own documents, compose file, and templates print. They are
 * accepted if the process and its stores are on loopback and NODE_ENV is not `production`.
 * @throws `example_secret` with each variable, and how to make one. No message quotes a secret.
 */
export function refuseExampleSecrets(check: ExampleCheck): void {
  if (isOnThisMachine(check)) return;
  const found = [
    ...ofSources(check.secrets ?? {}),
    ...ofVariables(check.env),
    ...ofUrls(check.env),
  ];
  if (found.length === 0) return;
  throw new MillraceError(
    "example_secret",
    `Cannot start with secrets that Millrace's documents print, because everyone knows them:\n${found
      .map(({ variable, advice }) => `  ${variable}: ${advice}`)
      .join("\n")}`,
  );
}

function isOnThisMachine({ env, host }: ExampleCheck): boolean {
  return (
    isLoopback(host) && env["NODE_ENV"] !== "production" && URLS.every((name) => isLocal(env[name]))
  );
}

const URLS = [
  "DATABASE_URL",
  "DATABASE_SESSION_URL",
  "RETENTION_DATABASE_URL",
  "REDIS_URL",
] as const;

function isLocal(url: string | undefined): boolean {
  if (url === undefined || url === "") return true;
  const read = readUrl(url);
  if (read === undefined) return false;
  const { hostname, searchParams } = read;
  const host = searchParams.get("host") ?? hostname.replace(/^\[(.*)\]$/, "$1");
  // A socket of this machine, by its path or by default.
  return host === "" || host.startsWith("/") || isLoopback(host);
}

interface Found {
  readonly variable: string;
  readonly advice: string;
}

function ofSources(secrets: NonNullable<ExampleCheck["secrets"]>): Found[] {
  const advice = "copy the secret that the sender shows, or make one with `openssl rand -hex 32`";
  return Object.entries(secrets)
    .filter(([, list]) => list.some(isExampleSecret))
    .map(([source]) => ({ variable: secretVariable(source), advice }));
}

const MADE_HERE = [
  "DASHBOARD_PASSWORD",
  "DASHBOARD_VIEWER_PASSWORD",
  "DASHBOARD_TOKEN",
  "DASHBOARD_TOKENS",
  "DASHBOARD_VIEWER_TOKEN",
  "DASHBOARD_VIEWER_TOKENS",
  "MILLRACE_QUEUE_KEY",
];

function ofVariables(env: Variables): Found[] {
  const advice = "make one with `openssl rand -hex 24`";
  return MADE_HERE.filter((variable) => (env[variable] ?? "").split(",").some(isExampleSecret)).map(
    (variable) => ({ variable, advice }),
  );
}

function ofUrls(env: Variables): Found[] {
  const advice = "its password is an example; give the server one of `openssl rand -hex 24`";
  return URLS.filter((variable) => isExampleSecret(passwordOf(env[variable]))).map((variable) => ({
    variable,
    advice,
  }));
}

function passwordOf(url: string | undefined): string {
  const { password = "" } = readUrl(url ?? "") ?? {};
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}

/** The mark of the secrets in our example files; a test compares the files with this. */
const MARK = /change-?me/i;
/** Other secrets that our pages print. */
const PRINTED: ReadonlySet<string> = new Set(["whsec_new", "whsec_old", "whsec_...", "password"]);

/** True for a secret of our documents, as its text or as the key that it encodes. */
export function isExampleSecret(secret: string): boolean {
  const text = secret.trim();
  if (PRINTED.has(text) || MARK.test(text)) return true;
  return MARK.test(Buffer.from(text.replace(/^whsec_/, ""), "base64").toString("latin1"));
}
