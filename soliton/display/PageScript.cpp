//===- PageScript.cpp - The script of a page -------------------------------===//
//
// Draws the timeline of PageData.cpp on a canvas. Data becomes text only by textContent and fillText, never markup.
// `#show=trip` in the address shows one trip, `#op=KEY` selects an op.
//
//===----------------------------------------------------------------------===//
#include "soliton/display/PageParts.h"

namespace soliton::sched {

const char *const kPageScript = R"js(
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const T = data.texts, byId = (id) => document.getElementById(id);
const canvas = byId("timeline"), tip = byId("tip"), pen = canvas.getContext("2d");
const LEFT = 126, RIGHT = 16, FONT = "12px system-ui, sans-serif", SMALL = "11px system-ui, sans-serif";
const groups = data.stagger.length;
let width = 800, view = [0, data.length || 1], hovered = -1, pinned = -1, cursor = null, colourBy = "tag";
const hidden = new Set();

const ops = data.ops.map(([key, tag, kind, stage, cycle, cluster, latency, place, label]) =>
  ({key, tag, kind: T[kind], stage, cycle, cluster, latency, place: T[place], label: T[label], needs: [], feeds: []}));
const events = data.events.map(([group, op, iteration, span, ready, start, end, done, stall, blame, text]) =>
  ({group, op, iteration, span: data.spans[span], ready, start, end, done, stall: T[stall], blame,
    sync: T[text][0] || "", text: T[text].slice(1), bars: []}));
for (const [from, to, kind, distance, region, cross] of data.deps) {
  ops[from].feeds.push({op: to, kind: T[kind], distance, region: T[region], cross});
  ops[to].needs.push({op: from, kind: T[kind], distance: -distance, region: T[region], cross});
}
const at = new Map();
events.forEach((e, i) => { if (e.op >= 0) at.set(e.group + ":" + e.op + ":" + e.iteration, i); });
const lanes = data.lanes.map((lane) => ({...lane, bars: [], runs: []}));
for (const [event, lane, begin, end] of data.bars) {
  const bar = {event, lane, begin, end};
  lanes[lane].bars.push(bar);
  events[event].bars.push(bar);
}
// Pieces of one op that follow each other share one caption.
for (const lane of lanes) {
  lane.bars.sort((a, b) => a.begin - b.begin);
  for (const bar of lane.bars) {
    const e = events[bar.event], run = lane.runs[lane.runs.length - 1], length = Math.max(bar.end - bar.begin, 1);
    if (run && run.label === ops[e.op].label && run.iteration === e.iteration && bar.begin - run.end <= length) {
      run.end = bar.end;
      ++run.count;
    } else lane.runs.push({label: ops[e.op].label, tag: ops[e.op].tag, iteration: e.iteration, begin: bar.begin,
                           end: bar.end, count: 1});
  }
}

// Rows from top to bottom.
const rows = [];
let height = 26;
const addRow = (row, h) => { rows.push({...row, y: height, h}); height += h; };
for (let group = 0; group < groups; ++group) {
  if (groups > 1) addRow({kind: "title", group}, 30);
  addRow({kind: "phases", group}, 24);
  lanes.forEach((lane, i) => { if (lane.group === group) addRow({kind: "lane", group, lane: i, name: lane.name}, 30); });
  addRow({kind: "waiting", group, name: "waiting"}, 26);
  for (const s of data.series) if (s.group === group && s.name !== "registers")
    addRow({kind: "series", group, series: s, name: s.name}, 40);
  for (const s of data.series) if (s.group === group && s.name === "registers")
    addRow({kind: "series", group, series: s, name: s.name}, 56);
  height += 10;
}
const rowOfLane = new Map(rows.filter((r) => r.kind === "lane").map((r) => [r.lane, r]));
const waitingRow = rows.filter((r) => r.kind === "waiting");

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let paint = {};
const readColours = () => {
  for (const name of ["card", "line", "text", "soft", "faint", "band", "band2", "wait", "barrier", "needs", "feeds", "bad"])
    paint[name] = css("--" + name);
  paint.tags = [...Array(10).keys()].map((i) => css("--c" + i));
};
const x = (t) => LEFT + (t - view[0]) / (view[1] - view[0]) * (width - LEFT - RIGHT);
const timeAt = (px) => view[0] + (px - LEFT) / (width - LEFT - RIGHT) * (view[1] - view[0]);
const colourOf = (e) => {
  const op = ops[e.op], n = colourBy === "tag" ? op.tag : colourBy === "stage" ? op.stage : e.iteration;
  return op.tag < 0 ? paint.faint : paint.tags[((n % 10) + 10) % 10];
};
const phaseName = (s) => s.phase === "kernel" ? "kernel, trip " + s.trip : s.phase;

function fitText(text, px, py, room, colour, font = FONT, align = "left") {
  pen.font = font;
  if (pen.measureText(text).width > room) return false;
  pen.fillStyle = colour;
  pen.textAlign = align;
  pen.textBaseline = "middle";
  pen.fillText(text, px, py);
  return true;
}
function hatch(px, py, w, h, colour) {
  pen.save();
  pen.beginPath();
  pen.rect(px, py, w, h);
  pen.clip();
  pen.globalAlpha = 0.14;
  pen.fillStyle = colour;
  pen.fillRect(px, py, w, h);
  pen.globalAlpha = 0.55;
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let i = px - h - ((px - h) % 7); i < px + w; i += 7) {
    pen.moveTo(i, py + h);
    pen.lineTo(i + h, py);
  }
  pen.stroke();
  pen.restore();
}
function drawAxis() {
  const pixels = width - LEFT - RIGHT, per = (view[1] - view[0]) / pixels * 110;
  const power = 10 ** Math.floor(Math.log10(Math.max(per, 1)));
  const step = Math.max(1, [1, 2, 5, 10].map((m) => m * power).find((m) => m >= per));
  pen.strokeStyle = paint.line;
  for (let t = Math.ceil(view[0] / step) * step; t <= view[1]; t += step) {
    pen.beginPath();
    pen.moveTo(Math.round(x(t)) + 0.5, 20);
    pen.lineTo(Math.round(x(t)) + 0.5, height - 4);
    pen.stroke();
    fitText(String(t), x(t), 11, 80, paint.soft, SMALL, "center");
  }
  fitText("cycles", LEFT - 12, 11, 80, paint.soft, SMALL, "right");
}
function drawPhases(group, from, to) {
  for (const s of data.spans) {
    if (s.group !== group || s.end < view[0] || s.begin > view[1]) continue;
    const a = Math.max(x(s.begin), LEFT), b = Math.min(x(s.end), width - RIGHT);
    pen.fillStyle = s.phase === "kernel" && s.trip % 2 === 0 ? paint.band2 : paint.band;
    pen.globalAlpha = 0.55;
    pen.fillRect(a, from, b - a, to - from);
    pen.globalAlpha = 1;
    pen.fillRect(a, from, b - a, 22);
    pen.fillStyle = paint.faint;
    if (x(s.begin) >= LEFT) pen.fillRect(Math.round(a), from, 1, to - from);
  }
}
function drawPhaseNames(group, from) {
  for (const s of data.spans) {
    if (s.group !== group || s.end < view[0] || s.begin > view[1]) continue;
    const a = Math.max(x(s.begin), LEFT), b = Math.min(x(s.end), width - RIGHT);
    const name = phaseName(s), cycles = s.end - s.begin;
    fitText(name + " · " + cycles + " cycles", a + 8, from + 11.5, b - a - 12, paint.text, "600 12px system-ui, sans-serif")
      || fitText(name, a + 8, from + 11.5, b - a - 10, paint.text, "600 12px system-ui, sans-serif")
      || fitText(s.phase, a + 4, from + 11.5, b - a - 6, paint.text, SMALL);
  }
}
function drawLane(row) {
  const lane = lanes[row.lane], top = row.y + 3, h = row.h - 6;
  for (const bar of lane.bars) {
    const e = events[bar.event];
    if (Math.max(bar.end, e.done) < view[0] || bar.begin > view[1]) continue;
    const off = hidden.has(ops[e.op].tag) ? 0.12 : 1, colour = colourOf(e);
    const a = x(bar.begin), w = Math.max(x(bar.end) - a, 1.5);
    if (e.done > bar.end) {
      pen.globalAlpha = 0.16 * off;
      pen.fillStyle = colour;
      pen.fillRect(a + w, top + h * 0.6, x(e.done) - a - w, h * 0.4);
    }
    pen.globalAlpha = (e.iteration % 2 === 0 ? 1 : 0.72) * off;
    pen.fillStyle = colour;
    pen.fillRect(a, top, w > 9 ? w - 1 : w > 4 ? w - 0.5 : w, h);
  }
  pen.globalAlpha = 1;
  drawCaptions(lane, top, h);
}
function drawCaptions(lane, top, h) {
  for (const run of lane.runs) {
    if (run.end < view[0] || run.begin > view[1] || hidden.has(run.tag)) continue;
    const a = Math.max(x(run.begin), LEFT), b = Math.min(x(run.end), width - RIGHT), room = b - a - 10;
    if (room < 14) continue;
    const many = run.count > 1 ? " ×" + run.count : "", last = run.label.split("/").pop(), n = "  #" + run.iteration;
    for (const text of [run.label + many + n, last + many + n, last + many, last]) {
      pen.font = FONT;
      if (!text || pen.measureText(text).width > room) continue;
      pen.fillStyle = "rgb(0 0 0 / 0.42)";
      pen.beginPath();
      pen.roundRect(a + 2, top + 3, pen.measureText(text).width + 8, h - 6, 4);
      pen.fill();
      pen.textBaseline = "middle";
      pen.textAlign = "left";
      pen.fillStyle = "#fff";
      pen.fillText(text, a + 6, top + h / 2 + 0.5);
      break;
    }
  }
}
function drawWaiting(row) {
  for (const e of events) {
    if (e.group !== row.group || e.start < view[0] || e.ready > view[1]) continue;
    const px = x(e.start), waited = e.stall ? e.start - e.ready : 0;
    if (waited > 0) {
      const a = Math.max(x(e.ready), LEFT), w = Math.max(px - a, 1);
      hatch(a, row.y + 4, w, row.h - 8, e.sync === "b" ? paint.barrier : paint.wait);
      const text = e.op >= 0 ? "needs " + (e.blame >= 0 ? nameOf(events[e.blame]) : "a value") : e.text;
      fitText(text + " · " + waited, a + 6, row.y + row.h / 2 + 0.5, w - 10, paint.text, SMALL)
        || fitText(text, a + 6, row.y + row.h / 2 + 0.5, w - 10, paint.text, SMALL);
    } else if (e.sync === "w") {
      pen.fillStyle = paint.wait;
      pen.fillRect(px - 1, row.y + 6, 2, row.h - 12);
    }
  }
}
function drawBarriers(group, from, to) {
  pen.strokeStyle = paint.barrier;
  pen.fillStyle = paint.barrier;
  pen.lineWidth = 1;
  const y = waitingRow[group].y + waitingRow[group].h / 2;
  for (const e of events) {
    if (e.group !== group || e.sync !== "b" || e.start < view[0] || e.start > view[1]) continue;
    const px = Math.round(x(e.start)) + 0.5;
    pen.setLineDash([4, 3]);
    pen.globalAlpha = 0.7;
    pen.beginPath();
    pen.moveTo(px, from + 22);
    pen.lineTo(px, to);
    pen.stroke();
    pen.globalAlpha = 1;
    pen.setLineDash([]);
    pen.beginPath();
    pen.moveTo(px, y - 5);
    pen.lineTo(px + 5, y);
    pen.lineTo(px, y + 5);
    pen.lineTo(px - 5, y);
    pen.fill();
  }
}
const valueAt = (s, t) => {
  let value = 0;
  for (const [time, v] of s.steps) { if (time > t) break; value = v; }
  return value;
};
function drawSeries(row) {
  const s = row.series, top = row.y + 8, bottom = row.y + row.h - 2, isRegisters = s.name === "registers";
  const most = Math.max(s.highest, isRegisters && s.limit && s.limit < 1.6 * s.highest ? s.limit : 0, 1);
  const y = (v) => bottom - (bottom - top) * v / most, colour = isRegisters ? paint.tags[4] : paint.tags[5];
  pen.beginPath();
  pen.moveTo(LEFT, bottom);
  let value = valueAt(s, view[0]);
  pen.lineTo(LEFT, y(value));
  for (const [time, v] of s.steps) {
    if (time <= view[0]) continue;
    if (time > view[1]) break;
    pen.lineTo(x(time), y(value));
    pen.lineTo(x(time), y(v));
    value = v;
  }
  pen.lineTo(x(Math.min(view[1], data.length)), y(value));
  pen.lineTo(x(Math.min(view[1], data.length)), bottom);
  pen.save();
  pen.globalAlpha = 0.28;
  pen.fillStyle = colour;
  pen.fill();
  pen.globalAlpha = 1;
  pen.strokeStyle = colour;
  pen.lineWidth = 1.2;
  pen.stroke();
  pen.restore();
  if (isRegisters && s.limit && s.limit <= most) {
    pen.strokeStyle = paint.bad;
    pen.setLineDash([2, 3]);
    pen.beginPath();
    pen.moveTo(LEFT, y(s.limit));
    pen.lineTo(width - RIGHT, y(s.limit));
    pen.stroke();
    pen.setLineDash([]);
  }
}
function drawGutter(row) {
  const y = row.y + row.h / 2;
  if (row.kind === "title") {
    const late = data.stagger[row.group];
    fitText(data.groups[row.group] + (late ? " · starts " + late + (late > 1 ? " barriers" : " barrier") + " later" : ""), 0,
            y + 2, 600, paint.text, "600 13px system-ui, sans-serif");
  } else if (row.kind === "series") {
    const s = row.series, unit = "most " + s.highest + (s.limit ? " of " + s.limit : "");
    fitText(row.name, LEFT - 12, y - 4, LEFT - 14, paint.text, FONT, "right");
    fitText(unit, LEFT - 12, y + 11, LEFT - 14, paint.soft, SMALL, "right");
  } else if (row.name) fitText(row.name, LEFT - 12, y, LEFT - 14, paint.text, FONT, "right")
    || fitText(row.name.slice(0, 14) + "…", LEFT - 12, y, LEFT, paint.text, FONT, "right");
}
function drawArrow(from, to, colour) {
  const a = from.bars[0], b = to.bars[0];
  if (!a || !b) return;
  const ra = rowOfLane.get(a.lane), rb = rowOfLane.get(b.lane);
  const x0 = x(Math.min(a.end, Math.max(b.begin, a.begin))), y0 = ra.y + ra.h / 2, x1 = x(b.begin), y1 = rb.y + rb.h / 2;
  const bend = Math.max(24, Math.abs(x1 - x0) / 2.5), lift = Math.abs(y1 - y0) < 4 ? -26 : 0;
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = 1.8;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.bezierCurveTo(x0 + bend, y0 + lift, x1 - bend, y1 + lift, x1, y1);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(x1 + 2, y1);
  pen.lineTo(x1 - 6, y1 - 4);
  pen.lineTo(x1 - 6, y1 + 4);
  pen.fill();
}
function outline(e, colour, w) {
  for (const bar of e.bars) {
    const row = rowOfLane.get(bar.lane);
    pen.strokeStyle = colour;
    pen.lineWidth = w;
    pen.strokeRect(x(bar.begin) - 1, row.y + 2, Math.max(x(bar.end) - x(bar.begin), 2) + 1, row.h - 4);
  }
}
// In its own group; what another role executes, in that one's.
const eventOf = (group, op, iteration) => {
  const places = [group, ...data.groups.keys()].map((g) => at.get(g + ":" + op + ":" + iteration));
  return places.find((found) => found !== undefined);
};
const partners = (e, side) => ops[e.op][side].map((d) => ({...d, event: eventOf(e.group, d.op, e.iteration + d.distance)}))
  .filter((d) => d.event !== undefined);
function drawSelection() {
  const chosen = pinned >= 0 ? pinned : hovered;
  if (chosen < 0 || events[chosen].op < 0) return;
  const e = events[chosen];
  for (const d of partners(e, "feeds")) { drawArrow(e, events[d.event], paint.feeds); outline(events[d.event], paint.feeds, 1.5); }
  for (const d of partners(e, "needs")) { drawArrow(events[d.event], e, paint.needs); outline(events[d.event], paint.needs, 1.5); }
  outline(e, paint.text, 2);
}
function draw() {
  const ratio = window.devicePixelRatio || 1;
  width = byId("stage").clientWidth || 800;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = height + "px";
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = paint.card;
  pen.fillRect(0, 0, width, height);
  pen.save();
  pen.beginPath();
  pen.rect(LEFT, 0, width - LEFT - RIGHT, height);
  pen.clip();
  for (let group = 0; group < groups; ++group) {
    const mine = rows.filter((r) => r.group === group && r.kind !== "title");
    drawPhases(group, mine[0].y, mine[mine.length - 1].y + mine[mine.length - 1].h);
  }
  pen.restore();
  drawAxis();
  pen.save();
  pen.beginPath();
  pen.rect(LEFT, 0, width - LEFT - RIGHT, height);
  pen.clip();
  for (const row of rows) if (row.kind === "phases") drawPhaseNames(row.group, row.y);
  for (const row of rows)
    ({lane: drawLane, waiting: drawWaiting, series: drawSeries}[row.kind] || (() => {}))(row);
  for (let group = 0; group < groups; ++group)
    drawBarriers(group, rows.find((r) => r.group === group && r.kind === "phases").y, waitingRow[group].y + waitingRow[group].h);
  drawSelection();
  if (cursor !== null && cursor >= LEFT) {
    pen.fillStyle = paint.faint;
    pen.fillRect(cursor, 20, 1, height);
  }
  pen.restore();
  rows.forEach(drawGutter);
}

// What the pointer is at.
const nameOf = (e) => e.op >= 0 ? ops[e.op].key : e.text;
function find(px, py) {
  const row = rows.find((r) => py >= r.y && py < r.y + r.h);
  if (!row || px < LEFT) return {row: null, event: -1};
  const t = timeAt(px), slack = 3 * (view[1] - view[0]) / (width - LEFT - RIGHT);
  let best = -1, distance = slack;
  const consider = (index, begin, end) => {
    const d = t < begin ? begin - t : t > end ? t - end : 0;
    if (d <= distance) { best = index; distance = d; }
  };
  if (row.kind === "lane") for (const bar of lanes[row.lane].bars) consider(bar.event, bar.begin, bar.end);
  if (row.kind === "waiting") events.forEach((e, i) => {
    if (e.group === row.group && (e.sync || e.stall)) consider(i, e.stall ? e.ready : e.start, e.start);
  });
  return {row, event: best, t};
}
const line = (text, cls) => {
  const div = document.createElement("div");
  div.textContent = text;
  if (cls) div.className = cls;
  tip.append(div);
};
function describe(e) {
  tip.replaceChildren();
  const head = document.createElement("b");
  head.textContent = nameOf(e);
  tip.append(head);
  const where = phaseName(e.span);
  if (e.op < 0) line(where + ", cycle " + e.start, "dim");
  else {
    const op = ops[e.op];
    line([op.kind.replace("_", " "), "iteration " + e.iteration, "stage " + op.stage, where, op.place].filter(Boolean).join(" · "), "dim");
    line("issued at cycle " + e.start + ", unit free at " + e.end + ", result at " + e.done);
  }
  const blamed = e.blame >= 0 ? events[e.blame] : null;
  if (e.stall) line("waited " + (e.start - e.ready) + " cycles for " + e.stall + (blamed && blamed.op >= 0 ? ": " + nameOf(blamed) : "")
    + (blamed && blamed.group !== e.group ? " (" + data.groups[blamed.group] + ")" : ""));
  if (e.op < 0) return;
  const list = (side, word, cls) => {
    const found = partners(e, side);
    for (const d of found.slice(0, 6))
      line(word + " " + ops[d.op].key + (d.distance ? " of iteration " + events[d.event].iteration : "")
        + (d.kind === "RAW" ? "" : d.kind === "order" ? " (order)" : " (must not overwrite " + d.region + " too early)"), cls);
    if (found.length > 6) line("and " + (found.length - 6) + " more", "dim");
  };
  list("needs", "after", "needs");
  list("feeds", "before", "feeds");
}
function showTip(px, py) {
  const place = find(px, py), chosen = pinned >= 0 ? pinned : place.event;
  hovered = place.event;
  if (chosen >= 0) describe(events[chosen]);
  else if (place.row && place.row.kind === "series") {
    tip.replaceChildren();
    line(place.row.name + ": " + valueAt(place.row.series, place.t) + " at cycle " + Math.round(place.t));
  }
  tip.hidden = chosen < 0 && !(place.row && place.row.kind === "series");
  if (tip.hidden) return;
  tip.style.left = Math.min(px + 16, width - tip.offsetWidth - 8) + "px";
  tip.style.top = py + 20 + "px";
}

// Moving about.
function setView(from, to) {
  const least = Math.min(20, data.length || 1), span = Math.min(Math.max(to - from, least), data.length || 1);
  const begin = Math.min(Math.max(from, 0), (data.length || 1) - span);
  view = [begin, begin + span];
  draw();
}
const zoom = (factor, t = (view[0] + view[1]) / 2) => setView(t - (t - view[0]) * factor, t + (view[1] - t) * factor);
const oneTrip = () => {
  const spans = data.spans.filter((s) => s.group === 0 && s.phase === "kernel"), s = spans[spans.length - 1];
  if (s) setView(s.begin - (s.end - s.begin) * 0.02, s.end + (s.end - s.begin) * 0.02);
};
let drag = null;
canvas.addEventListener("pointerdown", (ev) => { drag = {x: ev.offsetX, view: [...view], moved: false}; canvas.setPointerCapture(ev.pointerId); });
canvas.addEventListener("pointermove", (ev) => {
  cursor = ev.offsetX;
  if (drag && Math.abs(ev.offsetX - drag.x) > 3) {
    drag.moved = true;
    canvas.classList.add("moving");
    const shift = (ev.offsetX - drag.x) * (drag.view[1] - drag.view[0]) / (width - LEFT - RIGHT);
    return setView(drag.view[0] - shift, drag.view[1] - shift);
  }
  showTip(ev.offsetX, ev.offsetY);
  draw();
});
canvas.addEventListener("pointerup", (ev) => {
  if (drag && !drag.moved) {
    const event = find(ev.offsetX, ev.offsetY).event;
    pinned = event === pinned ? -1 : event;
    showTip(ev.offsetX, ev.offsetY);
  }
  drag = null;
  canvas.classList.remove("moving");
  draw();
});
canvas.addEventListener("pointerleave", () => { cursor = null; hovered = -1; if (pinned < 0) tip.hidden = true; draw(); });
canvas.addEventListener("wheel", (ev) => {
  if (!ev.ctrlKey && Math.abs(ev.deltaX) <= Math.abs(ev.deltaY)) return;
  ev.preventDefault();
  if (ev.ctrlKey) return zoom(ev.deltaY > 0 ? 1.2 : 1 / 1.2, timeAt(ev.offsetX));
  const shift = ev.deltaX * (view[1] - view[0]) / (width - LEFT - RIGHT);
  setView(view[0] + shift, view[1] + shift);
}, {passive: false});
byId("whole").onclick = () => setView(0, data.length);
byId("trip").onclick = oneTrip;
byId("in").onclick = () => zoom(0.6);
byId("out").onclick = () => zoom(1 / 0.6);
byId("colour").onchange = (ev) => { colourBy = ev.target.value; draw(); };
for (const button of document.querySelectorAll("#legend .tag"))
  button.onclick = () => {
    const tag = Number(button.dataset.tag);
    hidden.has(tag) ? hidden.delete(tag) : hidden.add(tag);
    button.classList.toggle("off", hidden.has(tag));
    draw();
  };
window.addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); draw(); });
readColours();
draw();
if (location.hash === "#show=trip") oneTrip();
if (location.hash.startsWith("#op=")) {
  const key = decodeURIComponent(location.hash.slice(4)), op = ops.findIndex((o) => o.key === key);
  const found = events.findIndex((e) => e.op === op && op >= 0 && e.span.phase === "kernel" && e.span.trip === data.trips - 1);
  pinned = found >= 0 ? found : events.findIndex((e) => e.op === op && op >= 0);
  draw();
  if (pinned >= 0 && events[pinned].bars.length > 0)
    showTip(x(events[pinned].bars[0].end), rowOfLane.get(events[pinned].bars[0].lane).y + 8);
}
})();
)js";

} // namespace soliton::sched
