import { ApiError } from "../api/request.ts";

/** An error, with the code that the documents and the log use. */
export function ErrorNote({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const code = error instanceof ApiError ? error.code : "page_failed";
  return (
    <div className="note bad" role="alert">
      <p>{error.message}</p>
      <p className="note-end">
        <code>{code}</code>
        {onRetry !== undefined && <button onClick={onRetry}>Try again</button>}
      </p>
    </div>
  );
}
