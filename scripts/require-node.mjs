const WANTED = [20, 20];

/** Ends with a clear word on a Node that is older than we run on. */
export function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > WANTED[0] || (major === WANTED[0] && minor >= WANTED[1])) return;
  console.error(
    `Cannot run Millrace: this is Node ${process.versions.node}, it needs ${WANTED.join(".")} or ` +
      `later. Get one from https://nodejs.org`,
  );
  process.exit(1);
}
