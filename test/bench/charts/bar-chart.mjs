const WIDTH = 860;
const LABELS = 320;
const VALUES = 150;
const ROW = 30;
const TOP = 48;

/** Transparent, and readable on light and on dark pages. */
const STYLE = `
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 15px }
.note { fill: #59636e }
.ours { fill: #0969da } .other { fill: #afb8c1 }
.whisker { stroke: #1f2328; stroke-width: 1.5; fill: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .note { fill: #9198a1 }
  .ours { fill: #4493f8 } .other { fill: #5a6572 }
  .whisker { stroke: #e6edf3 }
}`;

/**
 * A chart of horizontal bars as an SVG. A bar is a median; the line on it goes from the lowest to the highest.
 * `bars` have a label, a spread, and whether they are ours.
 */
export function barChart({ title, note, bars, digits = 0 }) {
  const height = TOP + bars.length * ROW + 8;
  const scale = (WIDTH - LABELS - VALUES) / Math.max(...bars.map(({ spread }) => spread.most));
  const rows = bars.map((bar, index) => row(bar, TOP + index * ROW, { scale, digits }));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escape(title)}">
<style>${STYLE}
</style>
<text class="title" x="8" y="20">${escape(title)}</text>
<text class="note" x="8" y="38">${escape(note)}</text>
${rows.join("\n")}
</svg>
`;
}

function row({ label, spread, isOurs }, y, { scale, digits }) {
  const x = (value) => round(LABELS + value * scale);
  const middle = y + ROW / 2;
  const [least, most] = [x(spread.least), x(spread.most)];
  const value = spread.middle.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return `<text x="${LABELS - 10}" y="${middle + 4}" text-anchor="end">${escape(label)}</text>
<rect class="${isOurs ? "ours" : "other"}" x="${LABELS}" y="${y + 6}" width="${round(spread.middle * scale)}" height="${ROW - 12}"/>
<path class="whisker" d="M${least} ${middle}H${most}M${least} ${middle - 5}v10M${most} ${middle - 5}v10"/>
<text x="${most + 8}" y="${middle + 4}">${value}</text>`;
}

const round = (value) => Math.round(value * 10) / 10;

const escape = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
