import type {
  AnswerOf,
  BodyOf,
  EventDetail,
  OperationName,
  ParameterOf,
  QueryOf,
} from "@millrace/api-contract";

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: string;
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number;

  constructor(code: string, message: string, status: number) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** Values as a user typed them; the API refuses those that are not valid. */
export type QueryText<Name extends OperationName> = {
  readonly [Key in keyof QueryOf<Name>]?: string | undefined;
};

type Options<Name extends OperationName> = {
  readonly query?: QueryText<Name>;
  readonly body?: BodyOf<Name>;
  readonly signal?: AbortSignal;
  /** Default: the browser's limit. */
  readonly timeoutMs?: number;
} & ([ParameterOf<Name>] extends [never]
  ? unknown
  : { readonly params: Readonly<Record<ParameterOf<Name>, string>> });

/** @throws ApiError; AbortError when the signal fired */
export async function request<Name extends OperationName>(
  name: Name,
  options: Options<Name>,
): Promise<AnswerOf<Name>> {
  const response = await send(name, options);
  if (response.status === 204) return undefined as AnswerOf<Name>;
  const answer = await readJson(response);
  if (response.ok && answer !== undefined) return answer as AnswerOf<Name>;
  throw errorOf(response, answer);
}

/** @throws as {@link request} */
export async function requestBytes<Name extends OperationName>(
  name: Name,
  options: Options<Name>,
): Promise<Uint8Array> {
  const response = await send(name, options);
  if (!response.ok) throw errorOf(response, await readJson(response));
  return new Uint8Array(await response.arrayBuffer());
}

interface Address {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
}

interface Sent extends Address {
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

async function send(
  name: string,
  { params, query, body, signal, timeoutMs }: Sent,
): Promise<Response> {
  const [method = ""] = name.split(" ");
  const timeout = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const limits = [signal, timeout].filter((limit) => limit !== undefined);
  try {
    const response = await fetch(urlOf(name, { params, query }), {
      method: method.toUpperCase(),
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(limits.length === 0 ? {} : { signal: AbortSignal.any(limits) }),
    });
    learnServerTime(response.headers.get("date"));
    return response;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(
      "unreachable",
      "Cannot reach the dashboard: it does not answer. Check that it is running and try again",
      0,
    );
  }
}

export function urlOf(name: string, { params, query }: Address): string {
  const path = name.slice(name.indexOf(" ") + 1);
  // A browser takes "." and ".." out of a path.
  const dots = /^\.\.?$/.test(params?.["eventId"] ?? "") ? { event_id: params?.["eventId"] } : {};
  const named = path.replaceAll(/:(\w+)/g, (_, key) =>
    key === "eventId" && dots.event_id !== undefined
      ? "-"
      : encodeURIComponent(params?.[key] ?? ""),
  );
  const given = Object.entries({ ...query, ...dots }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const search = given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  return `/api${named}${search}`;
}

export const bodyHref = (
  { source, event_id }: Pick<EventDetail, "source" | "event_id">,
  query: QueryText<"get /events/:source/:eventId/body">,
): string =>
  urlOf("get /events/:source/:eventId/body", { params: { source, eventId: event_id }, query });

const readJson = (response: Response): Promise<unknown> => response.json().catch(() => undefined);

/** The answer of a proxy, or of another build. */
export function malformedAnswer(what: string): ApiError {
  return new ApiError(
    "malformed_answer",
    `Cannot read the answer: it is not ${what}. Reload the page, and check the proxy in front of the dashboard`,
    200,
  );
}

function errorOf(response: Response, answer: unknown): ApiError {
  const error = (answer as { error?: { code?: unknown; message?: unknown } } | undefined)?.error;
  if (typeof error?.code === "string" && typeof error.message === "string") {
    return new ApiError(error.code, error.message, response.status);
  }
  // A proxy in between answers in its own words.
  return new ApiError(
    `http_${response.status}`,
    `Cannot read the answer: HTTP status ${response.status}, not from the API. Check the proxy in front of the dashboard`,
    response.status,
  );
}

// A browser's clock may be minutes off, so ages follow the server's clock: the answers' Date.
let aheadMs = 0;

/** `Date` has whole seconds, so a difference below two seconds does not count. */
function learnServerTime(date: string | null, nowMs = Date.now()): void {
  const serverMs = Date.parse(date ?? "");
  if (Number.isNaN(serverMs)) return;
  const difference = serverMs - nowMs;
  aheadMs = Math.abs(difference) < 2_000 ? 0 : difference;
}

export function serverNowMs(): number {
  return Date.now() + aheadMs;
}
