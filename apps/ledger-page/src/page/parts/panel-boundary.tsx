import { Component, type ReactNode } from "react";
import { ErrorNote } from "./error-note.tsx";

interface Props {
  readonly children: ReactNode;
}

interface State {
  readonly error: Error | undefined;
}

/** Keeps an error in one panel from taking down the page. */
export class PanelBoundary extends Component<Props, State> {
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
