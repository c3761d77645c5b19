import { Copy, X } from "lucide-react";
import { Component, useSyncExternalStore, type ReactNode } from "react";
import { ApiError } from "../api/request.ts";

let current: ReactNode;
const listeners = new Set<() => void>();

/** Shows a notice until the next one, or until a user dismisses it. */
export function notify(notice: ReactNode): void {
  current = notice;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** The live region of notices. It always exists: one that comes with its text is not read. */
export function NoticeBar() {
  const notice = useSyncExternalStore(subscribe, () => current);
  return (
    <div className="notice" role="status" aria-live="polite">
      {notice !== undefined && (
        <div className="notice-box">
          {typeof notice === "string" ? <p>{notice}</p> : notice}
          <button className="icon" onClick={() => notify(undefined)} aria-label="Dismiss">
            <X />
          </button>
        </div>
      )}
    </div>
  );
}

export function CopyButton({ text, what }: { text: string; what: string }) {
  return (
    <button type="button" className="icon" onClick={() => void copy(text, what)}>
      <Copy aria-hidden="true" />
      <span className="hidden">Copy {what}</span>
    </button>
  );
}

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(`Copied ${what}.`);
  } catch {
    // A page that came without TLS from another machine has no clipboard.
    const message = `Cannot copy ${what}: the browser does not allow it here. Select it and copy it by hand`;
    notify(<ErrorNote error={new Error(message)} />);
  }
}

/** With the code, which the docs explain. */
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

type State = { readonly error: Error | undefined };

/** An error in one panel leaves the rest of the page. */
export class PanelBoundary extends Component<{ readonly children: ReactNode }, State> {
  override state: State = { error: undefined };

  static getDerivedStateFromError(thrown: unknown): State {
    return { error: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return <ErrorNote error={error} onRetry={() => this.setState({ error: undefined })} />;
  }
}
