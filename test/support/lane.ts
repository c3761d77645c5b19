/** Passes things on in order, each as late as the delay says when it comes. */
export function createLane(delayMs: () => number): (pass: () => void) => void {
  const waiting: { readonly atMs: number; readonly pass: () => void }[] = [];
  // One timer, for what is first: of two timers, a process that is late may hear the second first.
  const passDue = () => {
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const leftMs = first.atMs - performance.now();
      if (leftMs > 0) {
        setTimeout(passDue, Math.ceil(leftMs));
        return;
      }
      waiting.shift();
      first.pass();
    }
  };
  return (pass) => {
    waiting.push({ atMs: performance.now() + delayMs(), pass });
    if (waiting.length === 1) passDue();
  };
}
