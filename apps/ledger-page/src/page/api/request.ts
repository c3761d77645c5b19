import { learnServerTime } from "./server-clock.ts";

/** What the API refused, or why it could not be asked: a stable code, and a sentence for people. */
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

export interface RequestOptions {
  readonly method?: "GET" | "POST" | "DELETE";
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/**
 * Asks the dashboard's API, and gives the JSON it answers; undefined for an answer without a body.
 *
 * @throws ApiError; AbortError when the signal fired.
 */
export async function request<Answer>(path: string, options: RequestOptions = {}): Promise<Answer> {
  const response = await send(path, options);
  learnServerTime(response.headers.get("date"));
  if (response.status === 204) return undefined as Answer;
  const answer = await readJson(response);
  if (response.ok && answer !== undefined) return answer as Answer;
  throw errorOf(response, answer);
}

async function send(path: string, { method, body, signal }: RequestOptions): Promise<Response> {
  try {
    return await fetch(path, {
      method: method ?? "GET",
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(
      "unreachable",
      "Cannot reach the dashboard: it does not answer. Look whether it runs, and try again",
      0,
    );
  }
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}

function errorOf(response: Response, answer: unknown): ApiError {
  const error = (answer as { error?: { code?: unknown; message?: unknown } } | undefined)?.error;
  if (typeof error?.code === "string" && typeof error.message === "string") {
    return new ApiError(error.code, error.message, response.status);
  }
  // A proxy in between answers in its own words.
  return new ApiError(
    `http_${response.status}`,
    `Cannot read the answer: it is not the API's, with HTTP status ${response.status}. Look at what stands before the dashboard`,
    response.status,
  );
}
