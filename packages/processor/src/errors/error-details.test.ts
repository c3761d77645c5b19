import { expect, test } from "vitest";
import { errorDetails, stackFrames } from "./error-details.ts";

const ROOT = { projectDir: "/srv/app" };

function thrown(message: string, ...calls: string[]): Error {
  const error = new Error(message);
  error.stack = `Error: ${message}\n${calls.map((call) => `    at ${call}`).join("\n")}`;
  return error;
}

test("keeps files, lines, and functions, and marks the project's own code", () => {
  const error = thrown(
    "no such order",
    "Object.<anonymous> (/srv/app/node_modules/pg/lib/client.js:1:2)",
    "async ship (/srv/app/src/orders.ts:12:7)",
    "file:///srv/app/handlers.ts:3:1",
    "process.processTicksAndRejections (node:internal/process/task_queues:105:5)",
    "Array.map (<anonymous>)",
    "async Promise.all (index 0)",
    "run (/opt/elsewhere/run.js:9:9)",
  );
  expect(stackFrames(error, ROOT)).toEqual([
    {
      file: "node_modules/pg/lib/client.js",
      line: 1,
      column: 2,
      function: "Object.<anonymous>",
      own: false,
    },
    { file: "src/orders.ts", line: 12, column: 7, function: "async ship", own: true },
    { file: "handlers.ts", line: 3, column: 1, function: null, own: true },
    {
      file: "node:internal/process/task_queues",
      line: 105,
      column: 5,
      function: "process.processTicksAndRejections",
      own: false,
    },
    { file: "run.js", line: 9, column: 9, function: "run", own: false },
  ]);
});

test("keeps no line of a message that looks like a call", () => {
  const error = thrown(
    "not found:\n    at secret (/srv/app/password.ts:1:1)",
    "ship (/srv/app/a.ts:1:2)",
  );
  expect(stackFrames(error, ROOT).map(({ file }) => file)).toEqual(["a.ts"]);
});

test("takes the stack of the first cause with own code", () => {
  const inner = thrown("inner", "ship (/srv/app/a.ts:1:2)");
  const outer = thrown("outer", "query (/srv/app/node_modules/drizzle-orm/x.js:1:2)");
  outer.cause = inner;
  expect(stackFrames(outer, ROOT)).toEqual(stackFrames(inner, ROOT));
});

test("takes what a real error has", () => {
  const [first] = stackFrames(new Error("real"), { projectDir: "/" });
  expect(first).toMatchObject({
    file: expect.stringMatching(/error-details\.test\.ts$/) as string,
  });
});

test("is empty for what has no stack, and never throws or takes long", () => {
  const hostile = [
    undefined,
    null,
    "text",
    { stack: "    at x (/a.js:1:1)" },
    Object.assign(new Error("x"), { stack: 7 }),
    Object.defineProperty(new Error("x"), "stack", {
      get: () => {
        throw new Error("no");
      },
    }),
    new Proxy(new Error("x"), {
      get: () => {
        throw new Error("no");
      },
    }),
  ];
  for (const error of hostile) expect(stackFrames(error, ROOT)).toEqual([]);
  const huge = Object.assign(new Error(""), {
    stack: "    at a (/srv/app/b.ts:1:1)\n".repeat(400_000),
  });
  const started = process.cpuUsage();
  expect(stackFrames(huge, ROOT)).toHaveLength(32);
  expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
});

const GIVEN_BACK = {
  code: "database_unavailable",
  final: false,
  counts: false,
  afterMs: 1,
} as const;

test.each([
  ["a deadlock", "40P01", "Deadlock found"],
  ["a lock that was not free in time", "55P03", "Deadlock found"],
  ["a server that shuts down", "57P01", undefined],
])(
  "%s of a handler's own statement uses up no attempt, and is an error or not",
  (_, code, title) => {
    const error = Object.assign(new Error("Deadlock found"), { code, severity: "ERROR" });
    const decision = { ...GIVEN_BACK, message: error.message };
    const failed = { error, thrownByHandler: true, abortReason: undefined };
    const kept = { stack: true, secrets: [], ...ROOT };
    expect(errorDetails(decision, failed, kept)?.title).toBe(title);
    expect(errorDetails(decision, { ...failed, thrownByHandler: false }, kept)).toBeUndefined();
  },
);

test("a failure without a line of its own has the line that bound its handler", () => {
  const decision = {
    ...GIVEN_BACK,
    code: "handler_timeout",
    counts: true,
    message: "late",
  } as const;
  const failed = { error: "text", thrownByHandler: true, abortReason: undefined };
  const kept = { stack: true, secrets: [], ...ROOT };
  const bound = thrown("on", "on (/srv/app/node_modules/millrace/a.js:1:2)", "/srv/app/h.ts:9:8");
  const stackOf = (error: unknown) =>
    errorDetails(decision, { ...failed, error }, kept, bound)?.stack;
  expect(stackOf("text")).toMatchObject([{ file: "h.ts", line: 9 }]);
  expect(stackOf(thrown("no", "ship (/srv/app/a.ts:1:2)"))).toMatchObject([{ file: "a.ts" }]);
});
