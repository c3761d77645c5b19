import { useQuery } from "@tanstack/react-query";
import { errorQuery } from "../api/queries.ts";

/** An error by what people know it by; its fingerprint until that is read. */
export function ErrorTitle({ fingerprint }: { fingerprint: string }) {
  const { data } = useQuery(errorQuery(fingerprint));
  return (
    <code className="error-title" title={fingerprint}>
      {data?.title ?? fingerprint}
    </code>
  );
}
