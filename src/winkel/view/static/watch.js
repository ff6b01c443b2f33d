"use strict";
// Shows a map as it forms. All text comes in by textContent, never as HTML.

const MOST_LISTED = 60;
const element = (name) => document.getElementById(name);
const dark = matchMedia("(prefers-color-scheme: dark)");
const INK = dark.matches ? "#FFFFFF" : "#000000";
const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", INK, "#F0E442",
  "#882255", "#117733", "#999999", "#44AA99"];

let colors = null; // one [r, g, b] a class
let codes = null; // class of each point
let labelled = 0; // rows that the classes are of
let latest = null;
let drawn = true;
const objectives = [];

function bytes(text) {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return new Uint16Array(out.buffer);
}

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function colorOf(k, count) {
  if (count <= PALETTE.length) return rgb(PALETTE[k]);
  const hue = (360 * k) / count; // many classes: around the colour circle at one lightness
  const f = (n) => {
    const t = (n + hue / 30) % 12;
    return Math.round(255 * (0.5 - 0.32 * Math.max(-1, Math.min(t - 3, 9 - t, 1))));
  };
  return [f(0), f(8), f(4)];
}

function start(content) {
  element("title").textContent = content.title;
  document.title = `${content.title} · winkel`;
  if (!content.names) return;
  codes = bytes(content.codes);
  labelled = content.n;
  colors = content.names.map((_, k) => colorOf(k, content.names.length));
  const legend = element("legend");
  legend.replaceChildren();
  content.names.slice(0, MOST_LISTED).forEach((name, k) => {
    const item = document.createElement("li");
    const dot = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    dot.setAttribute("viewBox", "0 0 10 10");
    const circle = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    for (const [key, value] of [["cx", 5], ["cy", 5], ["r", 5], ["fill", `rgb(${colors[k].join()})`]]) {
      circle.setAttribute(key, value);
    }
    dot.append(circle);
    const text = document.createElement("span");
    text.textContent = name;
    text.title = name;
    item.append(dot, text);
    legend.append(item);
  });
}

function state(content) {
  if (content.stage === "preparing") {
    element("status").textContent = "preparing: reading the data, finding neighbours …";
    return;
  }
  const finished = content.stage === "finished";
  element("status").textContent = content.status || (finished ? "finished" : `running: ${content.solver}`);
  if (content.iteration !== undefined) {
    element("iteration").textContent = `${content.iteration} of ${content.max_iter}`;
    element("progress").max = Math.max(1, content.max_iter);
    element("progress").value = finished ? Math.max(1, content.max_iter) : content.iteration;
    element("time").textContent = `${content.seconds.toFixed(1)} s`;
    if (content.objective !== null) {
      element("objective").textContent = Number(content.objective).toPrecision(6);
      objectives.push([content.iteration, content.objective]);
    }
  }
  if (content.points) latest = { points: bytes(content.points), extent: content.extent, n: content.n };
  redraw();
}

function redraw() {
  if (!drawn) return;
  drawn = false;
  requestAnimationFrame(() => {
    drawn = true;
    drawMap();
    drawCurve();
  });
}

function fitted(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  return [canvas.getContext("2d"), width, height, ratio];
}

function drawMap() {
  if (latest === null) return;
  const [context, width, height, ratio] = fitted(element("map"));
  const { points, extent, n } = latest;
  const count = points.length / 2;
  const margin = 12 * ratio;
  const scale = Math.min((width - 2 * margin) / Math.max(extent[0], 1e-9),
    (height - 2 * margin) / Math.max(extent[1], 1e-9));
  const left = (width - extent[0] * scale) / 2;
  const bottom = (height + extent[1] * scale) / 2;
  const size = Math.max(1, Math.round(ratio * Math.min(4, 240 / Math.sqrt(count))));
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const own = codes !== null && n === labelled && codes.length === count;
  const pack = ([r, g, b]) => (255 << 24) | (b << 16) | (g << 8) | r;
  const plain = pack(rgb(dark.matches ? "#56B4E9" : "#0072B2"));
  const packed = own ? colors.map(pack) : null;
  for (let i = 0; i < count; i++) {
    const x = Math.round(left + (points[2 * i] / 65535) * scale - size / 2);
    const y = Math.round(bottom - (points[2 * i + 1] / 65535) * scale - size / 2);
    const color = own ? packed[codes[i]] : plain;
    for (let v = Math.max(0, y); v < Math.min(height, y + size); v++) {
      for (let u = Math.max(0, x); u < Math.min(width, x + size); u++) pixels[v * width + u] = color;
    }
  }
  context.putImageData(image, 0, 0);
}

function drawCurve() {
  const [context, width, height, ratio] = fitted(element("curve"));
  context.clearRect(0, 0, width, height);
  if (objectives.length < 2) return;
  const values = objectives.map((entry) => entry[1]);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const first = objectives[0][0];
  const last = objectives[objectives.length - 1][0];
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
  context.lineWidth = 1.5 * ratio;
  context.beginPath();
  for (const [iteration, value] of objectives) {
    const x = ((iteration - first) / Math.max(1, last - first)) * (width - 4 * ratio) + 2 * ratio;
    const y = height - 3 * ratio - ((value - low) / Math.max(1e-300, high - low)) * (height - 6 * ratio);
    context.lineTo(x, y);
  }
  context.stroke();
}

const source = new EventSource("events");
source.addEventListener("start", (event) => start(JSON.parse(event.data)));
source.addEventListener("state", (event) => state(JSON.parse(event.data)));
source.addEventListener("end", () => source.close());
source.addEventListener("error", () => {
  if (source.readyState !== EventSource.CLOSED) return;
  element("status").textContent = "the connection was closed";
});
new ResizeObserver(redraw).observe(element("map"));
dark.addEventListener("change", redraw);
