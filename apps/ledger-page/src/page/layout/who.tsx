import { useMutation, useQueryClient } from "@tanstack/react-query";
import { forgetData, SESSION_KEY } from "../api/query-client.ts";
import { request } from "../api/request.ts";
import { notify } from "../parts/notice.tsx";
import { useSession } from "../session/session-context.ts";

/** Who is signed in, and the way out. */
export function Who() {
  const { user, role, via } = useSession();
  const client = useQueryClient();
  const signOut = useMutation({
    mutationFn: () => request("delete /session", {}),
    onSuccess: () => {
      client.setQueryData(SESSION_KEY, null);
      forgetData(client);
    },
    onError: (error) => notify({ kind: "error", error }),
  });
  const name = via === "local" ? "local" : (user ?? "token");
  return (
    <div className="who">
      <span>
        {name}
        {name !== role && <span className="quiet"> · {role}</span>}
      </span>
      {via === "session" && (
        <button className="plain" onClick={() => signOut.mutate()} disabled={signOut.isPending}>
          Sign out
        </button>
      )}
    </div>
  );
}
