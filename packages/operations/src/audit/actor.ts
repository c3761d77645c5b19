/** Who does something, and why. */
export interface Actor {
  /** The user; null when none is known. */
  readonly user: string | null;
  readonly role: "operator" | "viewer";
  /** Through what: a page's session, a program's token, an open loopback, the command, bull-board. */
  readonly via: "session" | "token" | "local" | "cli" | "board";
  /** In the actor's own words. */
  readonly reason?: string | undefined;
}
