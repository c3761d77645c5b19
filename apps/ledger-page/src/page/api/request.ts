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

export type Options<Name extends OperationName> = {
  readonly query?: QueryText<Name>;
  readonly body?: BodyOf<Name>;
  readonly signal?: AbortSignal;
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

interface Sent {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

async function send(name: string, { body, signal, ...address }: Sent): Promise<Response> {
  const [method = ""] = name.split(" ");
  const content = { "content-type": "application/json" };
  try {
    const response = await fetch(urlOf(name, address), {
      method: method.toUpperCase(),
      headers: { accept: "application/json", ...(body !== undefined && content) },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
    learnServerTime(response.headers.get("date"));
    return response;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    const message =
      "Cannot reach the dashboard: it does not answer. Check that it is running and try again";
    throw new ApiError("unreachable", message, 0);
  }
}

function urlOf(name: string, { params, query }: Pick<Sent, "params" | "query">): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value !== undefined) search.set(key, value);
  }
  const path = name.slice(name.indexOf(" ") + 1).replaceAll(/:(\w+)/g, (_, key) => {
    const value = params?.[key] ?? "";
    if (key !== "eventId" || !/^\.\.?$/.test(value)) return encodeURIComponent(value);
    // A browser takes "." and ".." out of a path.
    search.set("event_id", value);
    return "-";
  });
  return `/api${path}${search.size === 0 ? "" : `?${search}`}`;
}

const BODY = "get /events/:source/:eventId/body";

export function bodyHref(
  { source, event_id: eventId }: EventDetail,
  query: QueryText<typeof BODY>,
): string {
  return urlOf(BODY, { params: { source, eventId }, query });
}

const readJson = (response: Response): Promise<unknown> => response.json().catch(() => undefined);

function errorOf(response: Response, answer: unknown): ApiError {
  const { status } = response;
  const error = (answer as { error?: { code?: unknown; message?: unknown } } | undefined)?.error;
  if (typeof error?.code === "string" && typeof error.message === "string") {
    return new ApiError(error.code, error.message, status);
  }
  // A proxy in between answers in its own words.
  const message = `Cannot read the answer: HTTP status ${status}, not from the API. Check the proxy in front of the dashboard`;
  return new ApiError(`http_${status}`, message, status);
}

// A browser's clock may be minutes off, so ages follow the server's clock: the answers' Date.
let aheadMs = 0;

/** `Date` has whole seconds, so a difference below two seconds does not count. */
function learnServerTime(date: string | null): void {
  const difference = Date.parse(date ?? "") - Date.now();
  if (Number.isNaN(difference)) return;
  aheadMs = Math.abs(difference) < 2_000 ? 0 : difference;
}

export const serverNowMs = (): number => Date.now() + aheadMs;
