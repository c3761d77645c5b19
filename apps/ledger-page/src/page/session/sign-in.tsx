import type { BodyOf } from "@millrace/api-contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { useNavigate } from "react-router";
import { setSession } from "../api/queries.ts";
import { request } from "../api/request.ts";
import icon from "../icon.svg";
import { ErrorNote } from "../parts/notice.tsx";
import { useTitle } from "../parts/panel.tsx";
import { nextPath } from "./next-path.ts";

export function SignIn() {
  useTitle("Sign in");
  const client = useQueryClient();
  const navigate = useNavigate();
  const signIn = useMutation({
    mutationFn: (body: BodyOf<"post /session">) => request("post /session", { body }),
    onSuccess: async (session) => {
      const asked = new URL(location.href).searchParams.get("next");
      const path = asked === null ? undefined : nextPath(asked, location.origin);
      if (path?.startsWith("/queues") === true) return location.assign(path);
      setSession(client, session);
      if (path !== undefined) await navigate(path, { replace: true });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    signIn.mutate(Object.fromEntries(form) as BodyOf<"post /session">);
  };
  return (
    <main className="sign-in">
      <form onSubmit={submit} aria-labelledby="sign-in">
        <img className="mark" src={icon} alt="" width={24} height={24} />
        <h1 id="sign-in">Sign in to Millrace</h1>
        <label className="field">
          <span>User</span>
          <input name="user" autoComplete="username" required autoFocus />
        </label>
        <label className="field">
          <span>Password</span>
          <input name="password" type="password" autoComplete="current-password" required />
        </label>
        {signIn.error && <ErrorNote error={signIn.error} />}
        <button className="primary" disabled={signIn.isPending}>
          Sign in
        </button>
      </form>
    </main>
  );
}
