/** The stylesheet of our own pages. */
export const STYLE = `
:root { color-scheme: light dark; --line: #8884; --quiet: #8889; --bad: #c0392b; --good: #2e8b57; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 80rem; padding: 1rem 1.5rem; }
header { align-items: baseline; display: flex; flex-wrap: wrap; gap: 0 2rem; }
h1 { font-size: 1.4rem; }
h2 { font-size: 1.05rem; margin: 2rem 0 0.5rem; }
nav { display: flex; flex-wrap: wrap; gap: 1rem; }
main { overflow-x: auto; }
th, td { white-space: nowrap; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid var(--line); padding: 0.3rem 1rem 0.3rem 0; text-align: left; vertical-align: top; }
thead th { font-weight: 600; }
tbody th { font-weight: inherit; }
.counts td, .counts thead th + th { font-variant-numeric: tabular-nums; text-align: right; }
td.id { max-width: 24rem; min-width: 17.5rem; overflow-wrap: anywhere; white-space: normal; }
time { font-variant-numeric: tabular-nums; }
.failed { color: var(--bad); font-weight: 600; }
.completed { color: var(--good); }
.error { font-family: ui-monospace, monospace; font-size: 0.85em; max-width: 32rem; min-width: 10rem; overflow-wrap: anywhere; white-space: normal; }
em { color: var(--quiet); font-size: 0.85em; }
`.trimStart();
