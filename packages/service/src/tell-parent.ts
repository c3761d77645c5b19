/** Tells the process that started this one where a role listens; does nothing without one. */
export function tellParent(message: { kind: "listening"; role: string; port: number }): void {
  process.send?.(message);
}
