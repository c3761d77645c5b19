import { Component, type ReactNode } from "react";
import { ApiError } from "../api/request.ts";

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
