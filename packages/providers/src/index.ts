export { github } from "./github.ts";
export { hmac } from "./hmac.ts";
export type { HmacOptions } from "./hmac-options.ts";
export { hookMesh, type HookMeshOptions } from "./hook-mesh.ts";
export { standardWebhooks } from "./standard-webhooks.ts";
export { stripe } from "./stripe.ts";
