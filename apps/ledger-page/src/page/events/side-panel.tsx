import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import type { FocusEvent, MouseEvent } from "react";
import { Link, useLocation, useNavigate, useSearchParams } from "react-router";
import { eventQuery } from "../api/queries.ts";
import { EventFacts } from "../event/event-page.tsx";
import { Timeline } from "../event/timeline.tsx";
import { ErrorNote } from "../parts/notice.tsx";
import { useShortcuts } from "../parts/shortcuts.ts";

/** The link of the event that is next to the list, in the URL, and the ways to change it. */
export function useSidePanel() {
  const [query] = useSearchParams();
  const { state } = useLocation();
  const navigate = useNavigate();
  const link = query.get("beside") ?? undefined;
  const show = (to: string | null | undefined) => {
    const next = new URLSearchParams(query);
    next.delete("beside");
    if (typeof to === "string") next.set("beside", to);
    void navigate({ search: next.toString() }, { replace: true, state });
  };
  const close = () => show(undefined);
  useShortcuts({
    p: () => (link === undefined ? show(linkOfRow(document.activeElement)) : close()),
    ...(link !== undefined && { Escape: close }),
  });
  return {
    link,
    close,
    handlers: {
      onClick: ({ target }: MouseEvent) => {
        const isOther = target instanceof Element && target.closest("a, button, input, [popover]");
        if (!isOther && getSelection()?.isCollapsed !== false) show(linkOfRow(target) ?? link);
      },
      // `j` and `k` move the focus.
      onFocus: ({ target }: FocusEvent) => {
        const to = linkOfRow(target);
        if (link !== undefined && to !== link) show(to ?? link);
      },
    },
  };
}

const linkOfRow = (target: EventTarget | null) =>
  target instanceof Element
    ? target.closest("tr")?.querySelector("td.id a")?.getAttribute("href")
    : undefined;

export function SidePanel({ link, onClose }: { link: string; onClose: () => void }) {
  const { search } = useLocation();
  const query = new URLSearchParams(link.replace(/^.*\?/, ""));
  const id = query.get("id") ?? "";
  const generation = query.get("generation") ?? undefined;
  const { data, error } = useQuery(eventQuery(query.get("source") ?? "", id, generation));
  return (
    <aside className="side" aria-label="Event">
      <div className="page-head">
        <h2 className="id">
          <Link to={link} state={{ list: [], back: search }}>
            {id}
          </Link>
        </h2>
        <button className="icon" onClick={onClose}>
          <X aria-label="Close" />
        </button>
      </div>
      {error && <ErrorNote error={error} />}
      {data !== undefined && (
        <>
          <EventFacts event={data} />
          <Timeline event={data} />
        </>
      )}
    </aside>
  );
}
