// Runs the built embedded Postgres in a process of its own, which tests start as another user, with
// another environment, or to kill it. Reads words from stdin; says what happened in lines of JSON.
import { createInterface } from "node:readline";
import { startEmbeddedPostgres } from "@millrace/embedded-postgres";

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

try {
  const postgres = await startEmbeddedPostgres({ dataDir: process.argv[2] });
  const { url, port, pid, adopted } = postgres;
  say({ url, port, pid, adopted });
  for await (const word of createInterface({ input: process.stdin })) {
    if (word === "stop") await postgres.stop();
    if (word === "leave") process.exit(0);
    say({ done: word });
  }
} catch (error) {
  say({ code: error.code, message: error.message });
}
