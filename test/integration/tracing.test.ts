import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import config from "../fixtures/tracing/millrace.config.ts";
import { onEachBackend } from "../support/backends.ts";
import { newFolder } from "../support/new-folder.ts";
import { openForAll } from "../support/open-for.ts";
import { openPipeline, post } from "../support/pipeline.ts";
import { until } from "../support/until.ts";

const FIXTURE = fileURLToPath(new URL("../fixtures/tracing/", import.meta.url));

interface WrittenSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parent?: string;
  readonly links: readonly string[];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: { readonly code: number };
  readonly pid: number;
}

const idsOf = (span: WrittenSpan | undefined) => `${span?.traceId}-${span?.spanId}`;

/** A job without headers, of an event that the ledger took, links to what a first attempt follows. */
function originsOf(span: WrittenSpan | undefined): readonly string[] {
  return [`${span?.traceId}-${span?.parent}`, ...(span?.links ?? [])];
}

onEachBackend("spans of OpenTelemetry", (prepare) => {
  const traced = openForAll(() => {
    const file = join(newFolder(), "spans.jsonl");
    const env = {
      MILLRACE_CONFIG: join(FIXTURE, "millrace.config.ts"),
      NODE_OPTIONS: `--import ${pathToFileURL(join(FIXTURE, "telemetry.mjs")).href}`,
      TEST_SPANS: file,
    };
    return openPipeline(prepare, { env, config }, async (pipeline) => {
      const [ingress] = await Promise.all([pipeline.start("ingress"), pipeline.start("worker")]);
      return { file, ingress };
    });
  });

  const readSpans = (): WrittenSpan[] =>
    readFileSync(traced.file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));

  /** The spans of a run of an event's job, the outermost first. */
  const untilProcessed = async (source: string, eventId: string, runs = 1) =>
    await until(async () => {
      const spans = readSpans();
      const processed = spans.filter(
        ({ name, attributes }) =>
          name === `process ${source}` && attributes["millrace.event_id"] === eventId,
      );
      return processed.length < runs ? undefined : { spans, processed };
    });

  test("lead from the sender over the ingress and the handler to what it emits", async () => {
    const sender = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
    const traceparent = `00-${sender.traceId}-${sender.spanId}-01`;
    const id = "evt_traced_1";
    await post(traced.ingress.url, { id, type: "order.paid", headers: { traceparent } });
    const { spans, processed } = await untilProcessed("mail", `acme|${id}|0|receipt|#1`);
    const named = (name: string) => spans.find((span) => span.name === name);
    const receive = named("receive acme");
    expect(receive).toMatchObject({
      links: [`${sender.traceId}-${sender.spanId}`],
      attributes: { "millrace.outcome": "accepted", "http.response.status_code": 202 },
    });
    expect(receive?.traceId).not.toBe(sender.traceId);
    const process = named("process acme");
    expect(originsOf(process)).toContain(idsOf(receive));
    expect(process?.attributes).toMatchObject({ "millrace.event_id": id });
    expect(process?.attributes).toMatchObject({ "millrace.result": "handled" });
    expect(process?.pid).not.toBe(receive?.pid);
    const write = named("write");
    expect(write?.parent).toBe(process?.spanId);
    expect(named("commit")?.parent).toBe(process?.spanId);
    expect(named("a span of the handler's own")?.parent).toBe(write?.spanId);
    const emit = named("emit mail");
    expect(emit?.parent).toBe(write?.spanId);
    expect(originsOf(processed[0])).toContain(idsOf(emit));
  });

  test("has a call with its steps", async () => {
    const id = "evt_traced_2";
    await post(traced.ingress.url, { id, type: "order.called" });
    const { spans, processed } = await untilProcessed("acme", id);
    const [process] = processed;
    const own = spans.filter(({ traceId }) => traceId === process?.traceId);
    const named = (name: string) => own.find((span) => span.name === name);
    expect(process?.attributes["millrace.attempt"]).toBe(1);
    expect(named("call")?.parent).toBe(process?.spanId);
    expect(named("step")).toMatchObject({
      parent: named("call")?.spanId,
      attributes: { "millrace.step": "charge" },
    });
    expect(named("write")?.parent).toBe(process?.spanId);
  });

  test("has a later attempt in a trace that links to the delivery, and no text of an error", async () => {
    const id = "evt_traced_3";
    await post(traced.ingress.url, { id, type: "order.failing" });
    const { spans, processed } = await untilProcessed("acme", id, 2);
    const [first, second] = processed;
    expect(first).toMatchObject({
      status: { code: 2 },
      attributes: { "millrace.result": "retry", "error.type": "handler_failed" },
    });
    expect(second).toMatchObject({ attributes: { "millrace.attempt": 2 } });
    expect(second?.traceId).not.toBe(first?.traceId);
    const [origin] = second?.links ?? [];
    expect(originsOf(first)).toContain(origin);
    expect(spans.filter(({ name }) => name === "receive acme").map(idsOf)).toContain(origin);
    expect(JSON.stringify(spans)).not.toContain("card number");
  });
});
