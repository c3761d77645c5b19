import { openReceiver } from "millrace";
import { createApp } from "./app.ts";
import config from "./millrace.config.ts";

const receiver = await openReceiver(config, process.env);
const app = createApp(receiver);
// After the last request was answered.
app.addHook("onClose", () => receiver.close());
await app.listen({ port: Number(process.env["PORT"] ?? 3000), host: "0.0.0.0" });

process.once("SIGTERM", () => void app.close());
