export { setup as default } from "./main.ts";
