import { tableFeatures, useTable, type ColumnDef, type RowData } from "@tanstack/react-table";

const features = tableFeatures({});

/** A column of a `DataTable`: its id is its class too. */
export type Column<Row extends RowData> = ColumnDef<typeof features, Row>;

interface Props<Row extends RowData> {
  readonly caption: string;
  /** A class of the table besides its own. */
  readonly className?: string;
  readonly columns: Column<Row>[];
  readonly rows: Row[];
  readonly keyOf: (row: Row) => string;
  readonly classOf?: (row: Row) => string;
}

/**
 * A table that becomes a card a row where the window is narrow. The roles are explicit, since a
 * `display` other than a table's removes them.
 */
export function DataTable<Row extends RowData>(props: Props<Row>) {
  const { caption, className = "", columns, rows, keyOf, classOf } = props;
  const table = useTable({ features, columns, data: rows, getRowId: keyOf });
  return (
    <table className={`data ${className}`} role="table">
      <caption className="hidden">{caption}</caption>
      <thead role="rowgroup">
        {table.getHeaderGroups().map((group) => (
          <tr key={group.id} role="row">
            {group.headers.map((header) => (
              <th key={header.id} role="columnheader" scope="col" className={header.column.id}>
                <table.FlexRender header={header} />
              </th>
            ))}
          </tr>
        ))}
      </thead>
      <tbody role="rowgroup">
        {table.getRowModel().rows.map((row) => (
          <tr key={row.id} role="row" className={classOf?.(row.original)}>
            {row.getAllCells().map((cell) => (
              <td key={cell.id} role="cell" className={cell.column.id} data-label={labelOf(cell)}>
                <table.FlexRender cell={cell} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function labelOf({ column }: { column: { columnDef: { header?: unknown } } }): string | undefined {
  const { header } = column.columnDef;
  return typeof header === "string" ? header : undefined;
}

/** The buttons to other pages of a list, by their text; one that leads nowhere is off. */
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
