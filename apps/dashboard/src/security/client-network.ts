import { isIP, isIPv4 } from "node:net";
import type { Request } from "express";

/**
 * An IPv4 address, or the /64 of an IPv6 address, since one client has all addresses of a /64.
 * A proxy may write something else; then the connection's address counts.
 */
export function networkOf(request: Request): string {
  const { ip = "", socket } = request;
  return networkOfAddress(isIP(ip) === 0 ? (socket.remoteAddress ?? "") : ip);
}

export function networkOfAddress(address: string): string {
  // A server on :: sees an IPv4 client like this.
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (isIPv4(address)) return address;
  return isIP(address) === 6 ? `${prefixOf(address)}::/64` : "unknown";
}

const GROUPS = 8;
const GROUPS_OF_PREFIX = 4;

function prefixOf(address: string): string {
  const [head = "", tail] = (address.split("%")[0] ?? "").split("::");
  const before = groupsOf(head);
  const after = groupsOf(tail ?? "");
  const zeros = tail === undefined ? 0 : GROUPS - before.length - after.length;
  return [...before, ...Array<string>(zeros).fill("0"), ...after]
    .slice(0, GROUPS_OF_PREFIX)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}

/** An IPv4 address at the end is two groups behind the prefix. */
function groupsOf(text: string): string[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => (group.includes(".") ? ["0", "0"] : [group]));
}
