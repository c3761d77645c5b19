import { Ellipsis } from "lucide-react";
import { useId, useRef } from "react";

export interface MenuItem {
  readonly text: string;
  readonly act: () => void;
  readonly disabled?: boolean;
}

/** In the browser's top layer: a list that scrolls does not cut it off. */
export function RowMenu({ label, items }: { label: string; items: readonly MenuItem[] }) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const place = () => {
    const shown = list.current;
    const at = button.current?.getBoundingClientRect();
    if (shown === null || at === undefined) return;
    const isLow = at.bottom + shown.offsetHeight > window.innerHeight;
    shown.style.top = `${isLow ? at.top - shown.offsetHeight : at.bottom}px`;
    shown.style.left = `${Math.max(8, at.right - shown.offsetWidth)}px`;
  };
  return (
    <>
      <button ref={button} type="button" className="icon" popoverTarget={id} aria-label={label}>
        <Ellipsis />
      </button>
      <div ref={list} id={id} popover="auto" className="menu-list" onToggle={place}>
        {items.map(({ text, act, disabled = false }) => (
          <button
            key={text}
            type="button"
            disabled={disabled}
            onClick={() => {
              list.current?.hidePopover();
              act();
            }}
          >
            {text}
          </button>
        ))}
      </div>
    </>
  );
}
