import { useEffect, type ReactNode } from "react";

interface Props {
  readonly title: string;
  readonly about?: string;
  readonly children?: ReactNode;
}

export function PageHead({ title, about, children }: Props) {
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
