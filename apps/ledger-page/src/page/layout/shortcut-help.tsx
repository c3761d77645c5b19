import { useState } from "react";
import { Modal } from "../parts/dialog.tsx";
import { useShortcuts, useShortcutsOn } from "../parts/shortcuts.ts";

const KEYS = [
  ["/", "Search by ID"],
  ["j", "Next event of the list"],
  ["k", "Previous event of the list"],
  ["Enter", "Open the event"],
  ["r", "Retry the selected events, or the failed one that has the focus or is open"],
  ["?", "This help"],
] as const;

export function ShortcutHelp() {
  const [shown, setShown] = useState(false);
  const [on, turn] = useShortcutsOn();
  useShortcuts({ "?": () => setShown(true) });
  return (
    <>
      <button className="plain" onClick={() => setShown(true)} aria-label="Keyboard shortcuts">
        ?
      </button>
      {shown && (
        <Modal title="Keyboard shortcuts" onClose={() => setShown(false)}>
          <dl className="keys">
            {KEYS.map(([key, meaning]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
          <label className="check">
            <input type="checkbox" checked={on} onChange={({ target }) => turn(target.checked)} />
            Use these keys in this browser
          </label>
          <div className="actions">
            <button onClick={() => setShown(false)}>Close</button>
          </div>
        </Modal>
      )}
    </>
  );
}
