import { Ellipsis } from "lucide-react";
import { useId, useRef, type ReactNode } from "react";

/** The ID is the class of its cells too. */
export interface Column<Row> {
  readonly id: string;
  readonly header: ReactNode;
  readonly cell: (row: Row) => ReactNode;
}

interface Props<Row> {
  readonly caption: string;
  readonly className?: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[] | undefined;
  /** The sum of all, below them. */
  readonly total?: Row | undefined;
  readonly keyOf: (row: Row) => string;
  readonly classOf?: (row: Row) => string;
}

/** Nothing without rows. Its roles are explicit: a card of a narrow window has none of its own. */
export function DataTable<Row>(props: Props<Row>) {
  const { caption, className = "", columns, rows = [], total, keyOf, classOf } = props;
  if (rows.length === 0 && total === undefined) return null;
  const toRow = (row: Row) => (
    <tr key={keyOf(row)} role="row" className={classOf?.(row)}>
      {columns.map(({ id, header, cell }) => (
        <td
          key={id}
          role="cell"
          className={id}
          data-label={typeof header === "string" ? header : id}
        >
          {cell(row)}
        </td>
      ))}
    </tr>
  );
  return (
    <div className="scroll">
      <table className={`data cards ${className}`} role="table">
        <caption className="hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ id, header }) => (
              <th key={id} role="columnheader" scope="col" className={id}>
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">{rows.map(toRow)}</tbody>
        {total !== undefined && <tfoot role="rowgroup">{toRow(total)}</tfoot>}
      </table>
    </div>
  );
}

/** By the text of the button; `false` disables it. */
export function Pager({ steps }: { steps: Readonly<Record<string, false | (() => void)>> }) {
  return (
    <nav className="pager" aria-label="Pages">
      {Object.entries(steps).map(([text, go]) => (
        <button key={text} onClick={() => go && go()} disabled={!go}>
          {text}
        </button>
      ))}
    </nav>
  );
}

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
