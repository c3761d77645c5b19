/** The user that servers run as which refuse to run as root; undefined where this is not root. */
export function ordinaryUser(): { uid: number; gid: number } | undefined {
  return process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
}
