"""How does the page look?  Light, system fonts, prose of 70 characters, figures readable on a phone."""

CSS = """\
:root { color-scheme: light; --ink: #1a1a1a; --soft: #5f6368; --line: #dadce0; --tint: #f6f7f8; --blue: #0072B2; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-behavior: smooth; }
body { margin: 0 auto; max-width: 78rem; padding: 1.5rem 1rem 4rem; background: #fff; color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.3rem; line-height: 1.25; margin: 2.75rem 0 .6rem;
  padding-top: .75rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .4rem; }
p, ol.said, dl, .tiles { max-width: 70ch; }
p { margin: .5rem 0 .9rem; }
a { color: #00598a; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: .875em; }
code.command { display: inline-block; margin-top: .3rem; padding: .2rem .5rem; background: var(--tint);
  border: 1px solid var(--line); border-radius: 4px; }
code.command::before { content: "$ "; color: var(--soft); }
pre { overflow: auto; padding: .75rem; background: var(--tint); border: 1px solid var(--line); border-radius: 4px; }
nav ul { list-style: none; margin: 1rem 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
.lead, .note { color: var(--soft); }
.alarm { border-left: 4px solid #D55E00; background: #fdf1ea; padding: .6rem .9rem; color: #7a3400; }
ol.said { padding-left: 1.4rem; margin: .5rem 0; }
ol.said li { margin-bottom: 1rem; padding-left: .25rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .6rem; margin: .75rem 0 1rem; padding: 0; list-style: none; }
.tiles li { flex: 1 1 8rem; overflow-wrap: normal; padding: .5rem .8rem; border-radius: 6px; border: 1px solid; }
.tiles b { display: block; font-size: 1.6rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; max-width: 100%; border: 1px solid var(--line); border-radius: 6px; margin: .75rem 0 1rem; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; line-height: 1.4; overflow-wrap: normal; }
th, td { padding: .45rem .7rem; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
thead th { border-top: 0; background: var(--tint); color: var(--soft); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 500; min-width: 14rem; max-width: 22rem; overflow-wrap: anywhere; }
thead th.figure { white-space: normal; }
td.figure, th.figure { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td small, th small { font-size: .8125rem; line-height: 1.35;
  color: var(--soft); display: block; font-weight: 400; white-space: normal; }
table.verdicts { min-width: 68rem; table-layout: fixed; }
table.verdicts col.c-id { width: 3.8rem } table.verdicts col.c-reading { width: 23% }
table.verdicts col.c-verdict { width: 8.2rem } table.verdicts col.c-claimed { width: 8.5rem }
table.verdicts col.c-observed { width: 12.5rem } table.verdicts col.c-exact { width: 7rem }
tr.data td { border-top: 0; padding-top: 0; font-size: .8125rem; color: var(--soft); }
tr.data details { display: inline; } tr.data summary { display: inline; }
tr.data ul { margin: .3rem 0; padding: 0; list-style: none; } tr.data li { margin-bottom: .3rem; }
.whole { white-space: nowrap; }
table.verdicts td { overflow-wrap: break-word; }
table.verdicts td:nth-child(n+4):nth-child(-n+6) { font-variant-numeric: tabular-nums; }
tr.claim th { background: var(--tint); font-weight: 600; border-top: 2px solid var(--line); }
tr.claim th > div { position: sticky; left: .7rem; max-width: min(70ch, calc(100vw - 4.5rem)); }
tr.claim th small { display: inline; }
.verdict { display: inline-block; padding: .05rem .5rem; border-radius: 999px; font-weight: 600; font-size: .8125rem;
  border: 1px solid; white-space: nowrap; }
.of-data { border-style: dashed; font-weight: 500; }
.supported { background: #e3f4ed; color: #00543b; border-color: #009E73; }
.refuted { background: #fdeae0; color: #8a3600; border-color: #D55E00; }
.inconclusive { background: #fdf4dc; color: #6b4a00; border-color: #E69F00; }
.other { background: #f1f3f4; color: #3c4043; border-color: #9aa0a6; }
.gallery { display: grid; column-gap: 1.75rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr));
}
figure { margin: 0 0 1.75rem; max-width: 30rem; break-inside: avoid; min-width: 0; }
@supports (grid-template-rows: subgrid) {
  figure { display: grid; grid-row: span 3; grid-template-rows: subgrid; row-gap: .3rem; }
}
figure .name { font-weight: 600; line-height: 1.3; align-self: end; }
figure svg { display: block; width: 100%; max-width: 100%; height: auto; }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; }
figure svg text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif !important; }
.wide { overflow-x: auto; } .wide figure { max-width: none; display: block; } .wide svg { min-width: 40rem; }
figcaption { color: var(--soft); font-size: .875rem; line-height: 1.4; font-variant-numeric: tabular-nums; }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; margin: 0 0 1.1rem; padding: 0;
  font-size: .875rem; color: var(--soft); }
.key li::before { content: ""; display: inline-block; margin-right: .45rem; vertical-align: middle; }
.key .line::before { width: 1.3rem; height: .65rem;
  background: linear-gradient(#0072B240 40%, #0072B2 40% 60%, #0072B240 60%); }
.key .bar::before { width: .8rem; height: .8rem; background: #0072B28c; }
.key .ring::before { width: .5rem; height: .5rem; border: 1.5px solid #1a1a1a; border-radius: 50%; background: #fff; }
.key .star::before { width: .55rem; height: .55rem; background: #D55E00; transform: rotate(45deg); }
.key .tint::before { width: .9rem; height: .9rem; background: #E69F0047; }
.key .dash::before { width: 1.3rem; border-top: 2px dashed #5f6368; }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .3rem 1.25rem; font-size: .9375rem; }
dt { color: var(--soft); } dd { margin: 0; }
summary { cursor: pointer; color: #00598a; }
:focus-visible { outline: 2px solid var(--blue); outline-offset: 2px; }
@media (max-width: 30rem) { h1 { font-size: 1.45rem; } }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  .scroll { overflow: visible; border: 0; }
  table, table.verdicts { min-width: 0; font-size: 7.5pt; }
  thead { display: table-header-group; }
  tr, li { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
