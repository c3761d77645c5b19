import { createHmac } from "node:crypto";
import { SOURCE_NAME, type ErrorCode, type IngressConfig, type Verifier } from "@millrace/core";
import { ByteBudget } from "./byte-budget.ts";
import type { BodyRefused } from "./incoming-body.ts";
import type { AdmissionReason, Notify } from "./notice.ts";
import {
  earlyRejection,
  methodNotAllowed,
  unverified,
  type Received,
  type ReceiveRequest,
} from "./received.ts";
import type { ReadySource } from "./sources.ts";

export interface SourceLimits extends Pick<
  ReadySource,
  "methods" | "bodyBytesMax" | "bytes" | "inflates"
> {
  readonly name: string | undefined;
  readonly asked?: string | undefined;
  readonly verifier: Pick<Verifier, "precheck">;
}

const UNKNOWN_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Treats each unknown name as one of the sources, whose signature never matches, so that a stranger
 * cannot find out which names exist. The source follows from the name and the secrets, the same at
 * every ingress. Their bodies have bytes of their own.
 */
export function unknownSources(
  sources: readonly SourceLimits[],
  secret: Buffer,
): (path: string) => SourceLimits {
  const longest = Math.max(...sources.map(({ bodyBytesMax }) => bodyBytesMax));
  const budget = new ByteBudget(Math.max(UNKNOWN_BYTES_MAX, longest), new Map([["", longest]]));
  const alike = sources.map(({ methods, bodyBytesMax, inflates, verifier }) => {
    return { methods, bodyBytesMax, inflates, bytes: budget.of(""), verifier };
  });
  return (path) => {
    // A source with a wrong tenant, or without one, is like itself.
    const [name = ""] = path.split("/", 1);
    const known = sources.findIndex((source) => source.name === name);
    const drawn = createHmac("sha256", secret).update(name).digest().readUInt32BE() % alike.length;
    const asked = SOURCE_NAME.test(path) ? path : undefined;
    const limits = alike[known === -1 ? drawn : known];
    if (limits === undefined) throw new RangeError("Cannot receive webhooks: there is no source");
    return { ...limits, name: undefined, asked };
  };
}

export interface RequestHead {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export function rejectEarly(request: RequestHead, source: SourceLimits): Received | undefined {
  if (!source.methods.includes(request.method ?? "")) return methodNotAllowed(source.methods);
  const encoding = request.headers["content-encoding"];
  const isInflated = source.inflates && encoding !== undefined && isExactly(encoding, "gzip");
  if (encoding !== undefined && !isInflated && !isExactly(encoding, "identity")) {
    return earlyRejection("unsupported_encoding");
  }
  const transfer = request.headers["transfer-encoding"];
  if (transfer !== undefined && !isExactly(transfer, "chunked")) {
    return earlyRejection("unsupported_encoding");
  }
  const announced = lengthOf(request) ?? 0;
  return announced > source.bodyBytesMax ? earlyRejection("body_too_large") : undefined;
}

function isExactly(value: string | readonly string[], coding: string): boolean {
  return String(value).trim().toLowerCase() === coding;
}

export function lengthOf({ headers }: RequestHead): number | undefined {
  // Node has refused what is not a number, and two that differ.
  const announced = headers["content-length"];
  if (announced !== undefined) return Number(announced);
  return headers["transfer-encoding"] === undefined ? 0 : undefined;
}

export interface RefusedRequest {
  readonly rejection: Received;
  readonly reason?: AdmissionReason | undefined;
  readonly source?: SourceLimits | undefined;
}

const REASONS: Partial<Record<ErrorCode, AdmissionReason>> = {
  body_too_large: "too_large",
  body_timeout: "timeout",
  too_many_chunks: "too_many_chunks",
};

export type HeadChecks = ReturnType<typeof createHeadChecks>;

export function createHeadChecks(
  { bodyTimeoutMs }: Pick<IngressConfig, "bodyTimeoutMs">,
  { notify, nowMs }: { notify: Notify; nowMs: () => number },
) {
  function refuseHead(
    { name, verifier }: SourceLimits,
    head: Omit<ReceiveRequest, "source" | "body">,
  ): BodyRefused | undefined {
    if (verifier.precheck === undefined) return undefined;
    try {
      const delivery = { ...head, receivedAtMs: nowMs() };
      const refusal = verifier.precheck(delivery, bodyTimeoutMs);
      if (refusal === undefined) return undefined;
      const { code, failure } = refusal;
      const rejection =
        name === undefined ? unverified("unknown_source") : unverified(code, failure);
      return { ok: false, rejection, reason: "bad_head" };
    } catch (error) {
      // A provider of a user's own may throw. Its `verify` decides.
      notify({ kind: "unexpected", source: name, error });
      return undefined;
    }
  }

  function reportRefused({ rejection, reason, source }: RefusedRequest): Received {
    const { outcome, code, failure } = rejection;
    const admission = reason ?? (code && REASONS[code]);
    const { name, asked } = source ?? {};
    const answered = { kind: "answered", source: name, asked, outcome, code, failure } as const;
    notify({ ...answered, admission, durationMs: 0 });
    return rejection;
  }

  return { refuseHead, reportRefused };
}
