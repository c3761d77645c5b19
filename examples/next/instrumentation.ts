/** Called by Next.js once, when a server starts. */
export async function register(): Promise<void> {
  if (process.env["NEXT_RUNTIME"] !== "nodejs") return;
  const { closeReceiver } = await import("./webhooks.ts");
  process.once("SIGTERM", () => void closeReceiver());
}
