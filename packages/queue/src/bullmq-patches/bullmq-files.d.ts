declare module "bullmq/dist/cjs/version.js" {
  export const version: string;
}
declare module "bullmq/dist/cjs/scripts/moveToActive-11.js" {
  export const moveToActive: { readonly keys: number; readonly content: string };
}
declare module "bullmq/dist/cjs/scripts/moveToDelayed-11.js" {
  export const moveToDelayed: { readonly keys: number; readonly content: string };
}
declare module "bullmq/dist/cjs/scripts/moveToFinished-14.js" {
  export const moveToFinished: { readonly keys: number; readonly content: string };
}
