import { receiver } from "../../../webhooks.ts";

// Node's runtime: the stores are reached by sockets.
export const runtime = "nodejs";
export const dynamic = "force-dynamic";

interface Context {
  readonly params: Promise<{ readonly source: string }>;
}

export async function POST(request: Request, { params }: Context): Promise<Response> {
  const { source } = await params;
  return await (await receiver()).fetch(request, source);
}

// Some senders ask for proof with a GET before they send anything.
export function GET(request: Request, context: Context): Promise<Response> {
  return POST(request, context);
}
