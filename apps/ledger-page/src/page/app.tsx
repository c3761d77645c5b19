import { useQuery } from "@tanstack/react-query";
import { Link, Route, Routes, useLocation } from "react-router";
import { sessionQuery } from "./api/queries.ts";
import { AuditPage } from "./audit/audit-page.tsx";
import { ErrorPage } from "./errors/error-page.tsx";
import { ErrorsPage } from "./errors/errors-page.tsx";
import { EventPage } from "./event/event-page.tsx";
import { EventsPage } from "./events/events-page.tsx";
import { Palette } from "./layout/palette.tsx";
import { Rail } from "./layout/rail.tsx";
import { OverviewPage } from "./overview/overview-page.tsx";
import { SourcesPage } from "./overview/sources-table.tsx";
import { NoticeBar, ErrorNote, PanelBoundary } from "./parts/notice.tsx";
import { useTitle } from "./parts/panel.tsx";
import { RunPage, RunsPage } from "./runs/run-pages.tsx";
import { SessionContext } from "./session/session.ts";
import { SignIn } from "./session/sign-in.tsx";

export function App() {
  const { pathname } = useLocation();
  const { data: session, error } = useQuery(sessionQuery);
  if (session === null) return <SignIn />;
  if (session === undefined) {
    return <main className="page">{error && <ErrorNote error={error} />}</main>;
  }
  return (
    <SessionContext value={session}>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <Rail />
      <Palette />
      <main id="main" className="page" tabIndex={-1}>
        <PanelBoundary key={pathname}>
          <Routes>
            <Route path="/" element={<OverviewPage />} />
            <Route path="/events" element={<EventsPage />} />
            <Route path="/sources" element={<SourcesPage />} />
            <Route path="/event" element={<EventPage />} />
            <Route path="/errors" element={<ErrorsPage />} />
            <Route path="/errors/:fingerprint" element={<ErrorPage />} />
            <Route path="/runs" element={<RunsPage />} />
            <Route path="/runs/:id" element={<RunPage />} />
            <Route path="/audit" element={<AuditPage />} />
            <Route path="*" element={<NotFound />} />
          </Routes>
        </PanelBoundary>
      </main>
      <NoticeBar />
    </SessionContext>
  );
}

function NotFound() {
  useTitle("Not found");
  return (
    <div className="empty">
      <h1>Page not found</h1>
      <p>
        Go to <Link to="/events">the events</Link> or <Link to="/audit">the audit</Link>.
      </p>
    </div>
  );
}
