import { expect, test } from "vitest";
import { html } from "./html.ts";

test("values are escaped, markup of our own is not, nothing is empty", () => {
  const cells = ["<script>", `"'&`].map((text) => html`<td title="${text}">${text}</td>`);
  const row = [cells, null, undefined, 0] as const;
  expect(html`${row}`.html).toBe(
    '<td title="&lt;script&gt;">&lt;script&gt;</td>' +
      '<td title="&quot;&#39;&amp;">&quot;&#39;&amp;</td>0',
  );
});
