import { useEffect, useId, type ReactNode } from "react";

interface Props {
  readonly title: string;
  /** At the end of the title's line. */
  readonly tools?: ReactNode;
  readonly children: ReactNode;
}

export function Panel({ title, tools, children }: Props) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="panel">
      <div className="panel-head">
        <h2 id={id}>{title}</h2>
        {tools}
      </div>
      {children}
    </section>
  );
}

/** An entry of a list of facts. */
export function Fact({ name, children }: { name: ReactNode; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface HeadProps {
  readonly title: string;
  readonly about?: string;
  readonly children?: ReactNode;
}

export function PageHead({ title, about, children }: HeadProps) {
  useTitle(title);
  return (
    <header className="page-head">
      <h1>{title}</h1>
      {children}
      {about !== undefined && <p className="quiet">{about}</p>}
    </header>
  );
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} – Millrace`;
  }, [title]);
}
