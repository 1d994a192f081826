// How the page of a report looks.
#pragma once

namespace weft::validation {

inline constexpr const char* kReportStyle = R"css(
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e;
  --paper: #ffffff; --card: #f6f8fa; --line: #d1d9e0; --ours: #2f6fde;
  --theirs: #e08a2c; --bad: #c62f2f; --warn: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1;
  --paper: #0d1117; --card: #161b22; --line: #3d444d; --ours: #6ea8fe;
  --theirs: #f0a85c; --bad: #ff7b72; --warn: #d9a52b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; color: var(--ink);
  background: var(--paper); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .75rem; }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
p.note, .soft { color: var(--soft); }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; vertical-align: top;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { margin: .2rem 0 0; white-space: pre-wrap; font-size: .85rem;
  color: var(--soft); }
.error { color: var(--bad); font-weight: 600; }
.warning { color: var(--warn); font-weight: 600; }
.cards { display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)); }
.card { background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; padding: .8rem 1rem; min-width: 0; }
.card.bad { border-color: var(--bad); }
.card header { display: flex; justify-content: space-between; gap: .5rem; }
.facts { margin: .3rem 0 .5rem; color: var(--soft); font-size: .85rem; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
.ours { fill: var(--ours); } .theirs { fill: var(--theirs); }
.line { stroke: var(--line); } .mark { stroke: var(--ours); }
.legend span { display: inline-block; width: .75rem; height: .75rem;
  margin: 0 .3rem 0 .8rem; border-radius: 2px; vertical-align: -1px; }
)css";

}  // namespace weft::validation
