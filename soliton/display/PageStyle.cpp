//===- PageStyle.cpp - The style sheet of a page ---------------------------===//
#include "soliton/display/PageParts.h"

namespace soliton::sched {

const char *const kPageStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --line: #e3e6eb; --text: #1c2430; --soft: #5b6778; --faint: #98a2b3;
  --band: #eef1f5; --band2: #e4e9f0; --wait: #b45309; --barrier: #7c3aed; --needs: #d97706; --feeds: #2563eb;
  --good: #15803d; --bad: #b91c1c; --goodbg: #e8f5ec; --badbg: #fdecec; --warnbg: #fff4e0; --warn: #a15c07;
  --c0: #4f7fd9; --c1: #2fa58a; --c2: #e08a3c; --c3: #c8566b; --c4: #8466c9; --c5: #3f9fc2; --c6: #c46bb0;
  --c7: #8aa63a; --c8: #b58950; --c9: #74839a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c; --card: #1a2028; --line: #2b333e; --text: #e4e9f0; --soft: #9aa7b8; --faint: #667386;
    --band: #1f2731; --band2: #27303c; --wait: #f0a94b; --barrier: #a78bfa; --needs: #f0a94b; --feeds: #6ea8fe;
    --good: #5cc98a; --bad: #f58a8a; --goodbg: #17301f; --badbg: #3a1d20; --warnbg: #372a14; --warn: #f0b860;
    --c0: #6b97e6; --c1: #45b89c; --c2: #e59a55; --c3: #d9707f; --c4: #9c82da; --c5: #57b1d1; --c6: #d084bf;
    --c7: #9fb955; --c8: #c49c66; --c9: #8b99ae;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 1440px; margin: 0 auto; padding: 28px 28px 60px; }
header { margin-bottom: 20px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 10px; letter-spacing: -0.01em; }
h1 span { color: var(--soft); font-weight: 400; }
h2 { font-size: 17px; margin: 0 0 12px; }
h2 small { color: var(--soft); font-weight: 400; font-size: 13px; margin-left: 8px; }
small { color: var(--soft); }
code { font: 0.9em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.crumbs { margin: 0 0 2px; color: var(--soft); font-size: 13px; }
.story { max-width: 78ch; margin: 0 0 18px; font-size: 16px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 12px 16px; }
.tile .value { font-size: 26px; font-weight: 600; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tile .value small { font-size: 13px; font-weight: 400; margin-left: 5px; }
.tile .name { font-weight: 500; }
.tile .note { color: var(--soft); font-size: 13px; }
.tile.good .value { color: var(--good); }
.tile.bad .value { color: var(--bad); }
.problem { background: var(--badbg); color: var(--bad); border-radius: 8px; padding: 10px 14px; margin: 12px 0 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 18px 20px;
  margin: 0 0 18px; overflow-x: auto; }
summary { cursor: pointer; font-weight: 600; }
.guide { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); gap: 0 36px; margin-top: 4px;
  font-size: 14px; }
.guide p { margin: 8px 0 0; }
.needs { color: var(--needs); font-weight: 600; }
.feeds { color: var(--feeds); font-weight: 600; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(360px, 1fr)); gap: 0 18px; align-items: start; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; color: var(--soft); font-weight: 500; border-bottom: 1px solid var(--line); }
th, td { padding: 5px 14px 5px 0; vertical-align: top; }
tr + tr td { border-top: 1px solid var(--line); }
.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; width: 1%; }
.kernel td { border-top: 0; padding-top: 3px; padding-bottom: 3px; }
.kernel tr.sync td { border-top: 0; color: var(--soft); font-size: 13px; }
.chip, .tag { display: inline-block; border-radius: 6px; padding: 1px 8px; margin: 1px 5px 1px 0; font-size: 13px;
  color: var(--text); border: 0; border-left: 4px solid var(--tag); white-space: nowrap;
  background: color-mix(in srgb, var(--tag) 18%, var(--card)); }
.chip b { font-weight: 600; }
.mixed { color: var(--soft); margin: 0 6px 0 1px; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 4px; margin-bottom: 10px; max-height: 92px; overflow-y: auto; }
.tag { font: inherit; font-size: 13px; padding: 3px 10px; cursor: pointer; }
.tag.off { opacity: 0.35; }
.t0 { --tag: var(--c0); } .t1 { --tag: var(--c1); } .t2 { --tag: var(--c2); } .t3 { --tag: var(--c3); }
.t4 { --tag: var(--c4); } .t5 { --tag: var(--c5); } .t6 { --tag: var(--c6); } .t7 { --tag: var(--c7); }
.hint { --tag: var(--faint); font-size: 12px; color: var(--soft); }
.t8 { --tag: var(--c8); } .t9 { --tag: var(--c9); }
.syncname { font: 600 13px ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.syncname.barrier { color: var(--barrier); }
.syncname.wait { color: var(--wait); }
.why { color: var(--soft); font-size: 13px; }
.profile { width: 60%; padding-right: 0; }
.profile svg { width: 100%; height: 20px; display: block; background: var(--band); border-radius: 3px; }
.profile polygon { fill: var(--c0); }
.class { border-radius: 6px; padding: 1px 8px; font-size: 13px; white-space: nowrap; }
.class.proven { background: var(--goodbg); color: var(--good); }
.class.latency { background: var(--warnbg); color: var(--warn); }
.class.violated { background: var(--badbg); color: var(--bad); }
.keys { color: var(--soft); font-size: 13px; margin: 0 0 10px; }
.keys .class + .class, .keys .class:not(:first-child) { margin-left: 14px; }
pre { font: 12px/1.45 ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-x: auto; }
.tools { display: flex; gap: 18px; align-items: center; margin-bottom: 8px; font-size: 13px; color: var(--soft); }
.tools button, .tools select { font: inherit; color: var(--text); background: var(--band); border: 1px solid var(--line);
  padding: 3px 12px; cursor: pointer; border-radius: 6px; }
.tool-group button { border-radius: 0; margin-left: -1px; }
.tool-group button:first-child { border-radius: 6px 0 0 6px; margin-left: 0; }
.tool-group button:last-child { border-radius: 0 6px 6px 0; }
#stage { position: relative; }
#timeline { display: block; width: 100%; cursor: grab; }
#timeline.moving { cursor: grabbing; }
#tip { position: absolute; pointer-events: none; max-width: 420px; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; box-shadow: 0 6px 24px rgb(0 0 0 / 0.18); padding: 10px 14px; font-size: 13px; z-index: 2; }
#tip b { font-size: 14px; overflow-wrap: anywhere; }
#tip div { margin-top: 3px; }
#tip .dim { color: var(--soft); }
#tip .needs, #tip .feeds { font-weight: 500; }
@media print { .tools { display: none; } .card { break-inside: avoid; } }
)css";

} // namespace soliton::sched
