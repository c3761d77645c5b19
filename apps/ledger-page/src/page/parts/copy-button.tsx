import { notify } from "./notice.tsx";

/** Copies a text with a click, and says so. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  return (
    <button type="button" className="small" onClick={() => void copy(text, what)}>
      Copy<span className="hidden"> {what}</span>
    </button>
  );
}

async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify({ kind: "done", text: `Copied ${what}.` });
  } catch {
    // A page that came without TLS from another machine has no clipboard.
    const message = `Cannot copy ${what}: the browser does not allow it here. Select it and copy it by hand`;
    notify({ kind: "error", error: new Error(message) });
  }
}
