/** Whether a host name or an address means this machine, and no other can reach what listens there. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
