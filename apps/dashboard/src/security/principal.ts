/** What somebody may do: a viewer looks, an operator also retries, replays, pauses and resumes. */
export type Role = "operator" | "viewer";

/** A person who signs in with a password. */
export interface Account {
  readonly user: string;
  readonly password: string;
  readonly role: Role;
}

/** What a program sends as `Authorization: Bearer ...`. */
export interface Token {
  readonly token: string;
  readonly role: Role;
}

/** Everybody who may come in. */
export interface Credentials {
  readonly accounts: readonly Account[];
  readonly tokens: readonly Token[];
}

/** Who asks: somebody who signed in, a program, or, where no credentials are set, this machine. */
export interface Principal {
  readonly user: string | null;
  readonly role: Role;
  readonly via: "session" | "token" | "local";
}
