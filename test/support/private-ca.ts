import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type PrivateCa = ReturnType<typeof makePrivateCa>;

export function makePrivateCa() {
  const folder = mkdtempSync(join(tmpdir(), "millrace-ca-"));
  const file = (name: string) => join(folder, name);
  const openssl = (...args: string[]) =>
    execFileSync("openssl", args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const days = ["-days", "1"];
  try {
    const authority = ["-x509", ...days, "-subj", "/CN=A private CA", "-out", "ca.pem"];
    openssl("req", ...key, ...authority, "-keyout", "ca-key.pem");
    openssl("req", ...key, "-subj", "/CN=redis", "-keyout", "key.pem", "-out", "request.pem");
    writeFileSync(file("names.cnf"), "subjectAltName = IP:127.0.0.1, DNS:localhost\n");
    const signer = ["-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial", ...days];
    const named = ["-extfile", "names.cnf"];
    openssl("x509", "-req", "-in", "request.pem", ...signer, ...named, "-out", "cert.pem");
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    caFile: file("ca.pem"),
    certFile: file("cert.pem"),
    keyFile: file("key.pem"),
    ca: readFileSync(file("ca.pem"), "utf8"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
