import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { onRedis } from "../support/backends.ts";
import { executablePath } from "../support/executable-path.ts";
import { freePort, serve } from "../support/free-port.ts";
import { openForAll } from "../support/open-for.ts";
import { post, startStack } from "../support/pipeline.ts";
import { describeWith } from "../support/programs.ts";
import { startServerProcess } from "../support/server-process.ts";
import { ROOT } from "./context.ts";

const TOKEN = "a-token-of-the-proxy";
const CADDY = ["run", "--adapter", "caddyfile", "--config"];
const FILES = {
  "nginx.conf": { name: "nginx", args: ["-c"] },
  Caddyfile: { name: "caddy", args: CADDY },
  "sso.Caddyfile": { name: "caddy", args: CADDY },
  "haproxy.cfg": { name: "haproxy", args: ["-db", "-f"] },
};

/** Nginx includes our file in its own; Caddy needs no port for administrators. */
function whole(name: string, text: string, folder: string): string {
  if (name === "caddy") return `{\nadmin off\n}\n${text}`;
  if (name === "haproxy") return text;
  return `user root; daemon off; pid ${folder}/pid; error_log stderr; events {}
    http { access_log off; client_body_temp_path ${folder}/body; ${text} }`;
}

/** Without TLS, on loopback, and with these ports for those of the file. */
async function start(file: keyof typeof FILES, ports: Readonly<Record<string, string>>) {
  const { name, args } = FILES[file];
  const folder = newFolder();
  const [port, path] = [await freePort(), join(folder, file)];
  const text = (await readFile(join(ROOT, "infra/proxies", file), "utf8"))
    .replaceAll(/(?<=127\.0\.0\.1:)\d+/g, (old) => ports[old] ?? old)
    .replaceAll(/(listen|bind) :?443 ssl[^;\n]*/g, `$1 127.0.0.1:${port}`)
    .replaceAll(/^ *ssl_.*$/gm, "")
    .replaceAll(/^(?=\w+\.example\.com \{)/gm, "http://")
    .replaceAll(/(?<=^http:\/\/\S+)(?= \{)/gm, `:${port}`)
    .replaceAll("hooks.example.com", "127.0.0.1")
    .replaceAll("dash.example.com", "localhost");
  await writeFile(path, whole(name, text, folder));
  const urls = { hooks: `http://127.0.0.1:${port}`, dash: `http://localhost:${port}` };
  const server = await startServerProcess({
    ...{ name, path: executablePath(name, ["/usr/sbin"]) ?? name, folder },
    args: [...args, path],
    spawn: { env: { ...process.env, DASHBOARD_TOKEN: TOKEN } },
    isReady: () => fetch(urls.dash, { redirect: "manual" }).catch(() => false),
  });
  onTestFinished(() => server.end("SIGTERM"));
  return urls;
}

const stack = openForAll(() => startStack(onRedis, { worker: false }));
const portOf = ({ url }: { readonly url: string }) => new URL(url).port;

async function portsOfRoles() {
  const dashboard = await stack.pipeline.start("dashboard", { DASHBOARD_TOKENS: `sso:${TOKEN}` });
  onTestFinished(async () => void (await dashboard.end()));
  // The other ingress is down.
  const [other, own] = [String(await freePort()), portOf(stack.ingress)];
  return { 3000: own, 3010: other, 3001: portOf(dashboard) };
}

describe.each(["nginx.conf", "Caddyfile", "haproxy.cfg"] as const)("%s", (file) => {
  describeWith(FILES[file].name, "in front", () => {
    test("passes signed deliveries on unchanged, also large ones, to the ingress that is up; hides the rest", async () => {
      const { hooks, dash } = await start(file, await portsOfRoles());
      for (const [n, size] of [0, 100, 100, 20_000_000].entries()) {
        const event = {
          id: `${FILES[file].name}_${n}`,
          type: "test.effect",
          source: "patient",
        } as const;
        const send = () => post(hooks, { ...event, data: "é".repeat(size / 2) });
        const sent = await send();
        // The page: the delivery that finds an ingress down fails in Caddy. A busy machine lets Caddy
        // give up on one that is taken in, so that its repeat is a duplicate.
        const isFound = sent.status === 502 && file === "Caddyfile";
        expect(isFound ? [200, 202] : [202]).toContain((isFound ? await send() : sent).status);
      }
      for (const path of ["/metrics", "/healthz", "/readyz", "/"]) {
        expect((await fetch(`${hooks}${path}`)).status).toBe(404);
      }
      const headers = { authorization: `Bearer ${TOKEN}`, origin: dash };
      const paused = await fetch(`${dash}/api/sources/acme/pause`, { method: "POST", headers });
      expect([paused.status, await paused.text()]).toEqual([200, expect.any(String)]);
    });
  });
});

describeWith("caddy", "single sign-on", () => {
  test("lets in who oauth2-proxy knows, with the token's rights, and sends others to its sign-in", async () => {
    const { port, close } = await serve((request, response) => {
      const isKnown = request.headers.cookie === "_oauth2_proxy=known";
      const isCheck = request.url === "/oauth2/auth";
      response.writeHead(isCheck && !isKnown ? 401 : 202).end(request.url);
    });
    onTestFinished(close);
    const given = { ...(await portsOfRoles()), 4180: String(port) };
    const { dash } = await start("sso.Caddyfile", given);
    const get = (path: string, headers: Record<string, string>) =>
      fetch(`${dash}${path}`, { headers, redirect: "manual" });
    const refused = await get("/api/session", { authorization: `Bearer ${TOKEN}` });
    expect(refused.status).toBe(302);
    expect(refused.headers.get("location")).toMatch(/^\/oauth2\/start\?rd=http/);
    expect(await (await get("/oauth2/start", {})).text()).toBe("/oauth2/start");
    const admitted = await get("/api/session", { cookie: "_oauth2_proxy=known" });
    expect(await admitted.json()).toMatchObject({ user: "sso", role: "operator" });
  });
});
