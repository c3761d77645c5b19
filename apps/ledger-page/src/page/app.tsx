import { useQuery } from "@tanstack/react-query";
import { Route, Routes } from "react-router";
import { sessionQuery } from "./api/queries.ts";
import { AuditPage } from "./audit/audit-page.tsx";
import { EventPage } from "./event/event-page.tsx";
import { LedgerPage } from "./events/ledger-page.tsx";
import { Header } from "./layout/header.tsx";
import { NotFound } from "./layout/not-found.tsx";
import { NoticeBar } from "./parts/notice.tsx";
import { ErrorNote } from "./parts/error-note.tsx";
import { SessionContext } from "./session/session-context.ts";
import { SignIn } from "./session/sign-in.tsx";

/** The whole page: the sign-in form for a stranger, else what the path names. */
export function App() {
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
      <Header />
      <main id="main" className="page" tabIndex={-1}>
        <Routes>
          <Route path="/" element={<LedgerPage />} />
          <Route path="/event" element={<EventPage />} />
          <Route path="/audit" element={<AuditPage />} />
          <Route path="*" element={<NotFound />} />
        </Routes>
      </main>
      <NoticeBar />
    </SessionContext>
  );
}
