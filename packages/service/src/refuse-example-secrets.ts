import { isLoopback, MillraceError, readUrl, secretVariable } from "@millrace/core";

type Variables = Readonly<Record<string, string | undefined>>;

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
  const found = given(check).filter(({ texts }) => texts.some(isExampleSecret));
  if (found.length === 0) return;
  const lines = found.map(({ variable, advice }) => `  ${variable}: ${advice}`);
  throw new MillraceError(
    "example_secret",
    `Cannot start with secrets that Millrace's documents print, because everyone knows them:\n${lines.join("\n")}`,
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

const MADE_HERE = [
  "DASHBOARD_PASSWORD",
  "DASHBOARD_VIEWER_PASSWORD",
  "DASHBOARD_TOKEN",
  "DASHBOARD_TOKENS",
  "DASHBOARD_VIEWER_TOKEN",
  "DASHBOARD_VIEWER_TOKENS",
  "MILLRACE_QUEUE_KEY",
];

function given({ env, secrets = {} }: ExampleCheck) {
  return [
    ...Object.entries(secrets).map(([source, texts]) => ({
      variable: secretVariable(source),
      texts,
      advice: "copy the secret that the sender shows, or make one with `openssl rand -hex 32`",
    })),
    ...MADE_HERE.map((variable) => ({
      variable,
      texts: (env[variable] ?? "").split(","),
      advice: "make one with `openssl rand -hex 24`",
    })),
    ...URLS.map((variable) => ({
      variable,
      texts: [passwordOf(env[variable])],
      advice: "its password is an example; give the server one of `openssl rand -hex 24`",
    })),
  ];
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
