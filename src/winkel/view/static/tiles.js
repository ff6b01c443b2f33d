"use strict";
// A map of millions by tiles: how many points are where, seen from far away, and the points themselves from close by. All text comes
// in by textContent, never as HTML.

const SIDE = 256; // counts along a side of a tile
const FEW = 20000; // points in view at which they are drawn one by one
const KEPT = 400; // tiles of each kind in memory
const UNDER_WAY = 6; // requests at a time
const element = (name) => document.getElementById(name);
const canvas = element("map");
const context = canvas.getContext("2d");
const dark = matchMedia("(prefers-color-scheme: dark)");

let map = null; // what tiles.json says
const view = { x: 0.5, y: 0.5, scale: 1 }; // place of the middle, of the map's square, and pixels that its side takes
const kept = { density: new Map(), points: new Map() };
let waiting = []; // tiles that this view needs, the nearest to the middle first
let running = 0;
let due = false;
let ramp = null;
let shown = []; // points as they were drawn: [x, y, row], in pixels
const settled = []; // who waits until everything is there

// ---------------------------------------------------------------------------------------------- colours

const LIGHT = [[222, 235, 247], [158, 202, 225], [66, 146, 198], [8, 81, 156], [4, 30, 80]];
const DARK = [[16, 42, 67], [8, 81, 156], [66, 146, 198], [158, 202, 225], [247, 251, 255]];

function makeRamp() {
  const stops = dark.matches ? DARK : LIGHT;
  ramp = new Uint8ClampedArray(4 * 256);
  for (let k = 1; k < 256; k++) {
    const at = ((k - 1) / 254) * (stops.length - 1);
    const below = Math.min(stops.length - 2, Math.floor(at));
    for (let c = 0; c < 3; c++) {
      ramp[4 * k + c] = stops[below][c] + (at - below) * (stops[below + 1][c] - stops[below][c]);
    }
    ramp[4 * k + 3] = 255;
  }
  const legend = element("ramp").getContext("2d");
  const image = legend.createImageData(128, 1);
  for (let k = 0; k < 128; k++) image.data.set(ramp.subarray(4 * (2 * k + 1), 4 * (2 * k + 2)), 4 * k);
  legend.putImageData(image, 0, 0);
  for (const tile of kept.density.values()) if (tile) tile.picture = null;
}

// ---------------------------------------------------------------------------------------------- tiles

const nameOf = (z, x, y) => `${z}/${x}/${y}`;

function fetched(kind, z, x, y) {
  const name = nameOf(z, x, y);
  const found = kept[kind].get(name);
  if (found === undefined) {
    waiting.push({ kind, z, x, y, name });
    return null;
  }
  kept[kind].delete(name); // the last used is the last to go
  kept[kind].set(name, found);
  return found;
}

function work() {
  while (running < UNDER_WAY && waiting.length) {
    const task = waiting.shift();
    if (kept[task.kind].has(task.name)) continue;
    kept[task.kind].set(task.name, null);
    running++;
    fetch(`${task.kind}/${task.name}`)
      .then((answer) => (answer.ok ? answer.arrayBuffer() : Promise.reject(new Error(`${answer.status}`))))
      .then((buffer) => kept[task.kind].set(task.name, task.kind === "density" ? asDensity(buffer) : asPoints(buffer)))
      .catch(() => {
        kept[task.kind].delete(task.name);
        element("status").textContent = "The server does not answer; is it still running?";
      })
      .finally(() => {
        running--;
        redraw();
      });
  }
  for (const kind of ["density", "points"]) {
    for (const name of kept[kind].keys()) {
      if (kept[kind].size <= KEPT) break;
      if (kept[kind].get(name)) kept[kind].delete(name);
    }
  }
  if (!running && !waiting.length && !due) while (settled.length) settled.pop()();
}

function asDensity(buffer) {
  const count = new DataView(buffer).getFloat64(0, true);
  const codes = count ? new Uint8Array(buffer, 8) : null;
  let most = 0;
  if (codes) for (const code of codes) most = Math.max(most, code);
  return { count, codes, most, picture: null, top: 0 };
}

function asPoints(buffer) {
  const count = new DataView(buffer).getFloat64(0, true);
  if (buffer.byteLength === 8) return { count, rows: [], places: [] };
  return { count, rows: new Float64Array(buffer, 8, count), places: new Float32Array(buffer, 8 + 8 * count, 2 * count) };
}

function pictureOf(tile, top) {
  if (tile.picture && tile.top === top) return tile.picture;
  const picture = tile.picture || new OffscreenCanvas(SIDE, SIDE);
  const inner = picture.getContext("2d");
  const image = inner.createImageData(SIDE, SIDE);
  const pixels = new Uint32Array(image.data.buffer);
  const colors = new Uint32Array(ramp.buffer);
  for (let row = 0; row < SIDE; row++) {
    const from = (SIDE - 1 - row) * SIDE; // counts begin below, pictures above
    for (let column = 0; column < SIDE; column++) {
      const code = tile.codes[from + column];
      if (code) pixels[row * SIDE + column] = colors[Math.max(1, Math.min(255, Math.round((255 * code) / top)))];
    }
  }
  inner.putImageData(image, 0, 0);
  tile.picture = picture;
  tile.top = top;
  return picture;
}

// ---------------------------------------------------------------------------------------------- drawing

const across = (x) => canvas.width / 2 + (x - view.x) * view.scale;
const down = (y) => canvas.height / 2 - (y - view.y) * view.scale;

function levelOf() {
  // A count is drawn as at least one pixel and less than two.
  return Math.max(0, Math.min(map.deepest, Math.floor(Math.log2(view.scale / SIDE))));
}

function tilesInView(z) {
  const count = 2 ** z;
  const clamp = (value) => Math.max(0, Math.min(count - 1, Math.floor(value * count)));
  const [w, h] = [canvas.width / 2 / view.scale, canvas.height / 2 / view.scale];
  const found = [];
  for (let x = clamp(view.x - w); x <= clamp(view.x + w); x++) {
    for (let y = clamp(view.y - h); y <= clamp(view.y + h); y++) found.push([x, y]);
  }
  const far = ([x, y]) => Math.hypot((x + 0.5) / count - view.x, (y + 0.5) / count - view.y);
  return found.sort((a, b) => far(a) - far(b));
}

function redraw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    draw();
  });
}

function draw() {
  if (map === null) return;
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((side) => Math.max(1, Math.round(side * ratio)));
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  context.clearRect(0, 0, width, height);
  waiting = [];
  shown = [];
  const z = levelOf();
  const inView = tilesInView(z);
  const tiles = inView.map(([x, y]) => ({ x, y, tile: fetched("density", z, x, y) }));
  const whole = tiles.every(({ tile }) => tile !== null);
  const count = tiles.reduce((sum, { tile }) => sum + (tile ? tile.count : 0), 0);
  const close = whole && count <= FEW;
  const points = close ? tiles.map(({ x, y, tile }) => (tile.count ? fetched("points", z, x, y) : { rows: [], places: [] })) : [];
  const ready = close && points.every((part) => part !== null);
  if (ready) drawPoints(points, count, ratio);
  else drawDensity(z, tiles);
  element("legend").hidden = ready;
  const number = (value) => value.toLocaleString("en");
  const sight = !whole ? "loading …" : `${number(count)} in these tiles, ${ready ? "each a point" : "as density"}`;
  element("status").textContent = `${number(map.n)} points; ${sight}`;
  canvas.dataset.level = z;
  canvas.dataset.drawn = ready ? "points" : "density";
  work();
}

function drawDensity(z, tiles) {
  const top = Math.max(16, ...tiles.map(({ tile }) => (tile ? tile.most : 0)));
  context.imageSmoothingEnabled = false;
  for (const { x, y, tile } of tiles) {
    const [drawn, part] = tile ? [tile, [0, 0, 1]] : above(z, x, y);
    if (!drawn || !drawn.codes) continue;
    const count = 2 ** z;
    const [left, bottom] = [Math.round(across(x / count)), Math.round(down(y / count))];
    const [right, upper] = [Math.round(across((x + 1) / count)), Math.round(down((y + 1) / count))];
    const [u, v, share] = part;
    const picture = pictureOf(drawn, tile ? top : Math.max(16, drawn.most));
    context.drawImage(picture, u * SIDE, (1 - v - share) * SIDE, share * SIDE, share * SIDE, left, upper, right - left, bottom - upper);
  }
}

function above(z, x, y) {
  // Until a tile is there, the part of a larger one that it is in.
  for (let k = 1; k <= Math.min(z, SIDE); k++) {
    const [s, u, v] = [2 ** k, Math.floor(x / 2 ** k), Math.floor(y / 2 ** k)];
    const found = kept.density.get(nameOf(z - k, u, v));
    if (found) return [found, [(x - u * s) / s, (y - v * s) / s, 1 / s]];
  }
  return [null, null];
}

function drawPoints(points, count, ratio) {
  const radius = ratio * Math.max(1.2, Math.min(4, 150 / Math.sqrt(count + 1)));
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
  for (const { rows, places } of points) {
    for (let i = 0; i < rows.length; i++) {
      const x = across((places[2 * i] - map.corner[0]) / map.side);
      const y = down((places[2 * i + 1] - map.corner[1]) / map.side);
      if (x < -radius || y < -radius || x > canvas.width + radius || y > canvas.height + radius) continue;
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fill();
      shown.push([x, y, rows[i], places[2 * i], places[2 * i + 1]]);
    }
  }
}

// ---------------------------------------------------------------------------------------------- moving

function limit() {
  const least = 0.5 * Math.min(canvas.width, canvas.height);
  view.scale = Math.max(least, Math.min(view.scale, 2 * SIDE * 2 ** map.deepest));
  view.x = Math.max(0, Math.min(1, view.x));
  view.y = Math.max(0, Math.min(1, view.y));
}

function zoom(factor, px = canvas.width / 2, py = canvas.height / 2) {
  if (map === null) return;
  const [x, y] = [view.x + (px - canvas.width / 2) / view.scale, view.y - (py - canvas.height / 2) / view.scale];
  view.scale *= factor;
  limit();
  view.x = x - (px - canvas.width / 2) / view.scale;
  view.y = y + (py - canvas.height / 2) / view.scale;
  limit();
  redraw();
}

function move(dx, dy) {
  if (map === null) return;
  view.x -= dx / view.scale;
  view.y += dy / view.scale;
  limit();
  redraw();
}

function wholeMap() {
  if (map === null) return;
  const ratio = window.devicePixelRatio || 1;
  view.x = 0.5;
  view.y = 0.5;
  view.scale = ratio * Math.min(canvas.clientWidth, canvas.clientHeight);
  redraw();
}

function at(event) {
  const box = canvas.getBoundingClientRect();
  const ratio = window.devicePixelRatio || 1;
  return [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
}

const pointers = new Map();

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, at(event));
  canvas.classList.add("moving");
});
canvas.addEventListener("pointermove", (event) => {
  const now = at(event);
  const before = pointers.get(event.pointerId);
  if (before === undefined) return tell(now);
  pointers.set(event.pointerId, now);
  if (pointers.size === 1) move(now[0] - before[0], now[1] - before[1]);
  if (pointers.size === 2) {
    const other = [...pointers.entries()].find(([id]) => id !== event.pointerId)[1];
    const apart = (point) => Math.max(1, Math.hypot(point[0] - other[0], point[1] - other[1]));
    zoom(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  }
  element("hint").textContent = "";
});
for (const kind of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(kind, (event) => {
    pointers.delete(event.pointerId);
    if (!pointers.size) canvas.classList.remove("moving");
  });
}
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  zoom(2 ** (-event.deltaY / 400), ...at(event));
}, { passive: false });
canvas.addEventListener("dblclick", (event) => zoom(2, ...at(event)));

function tell([px, py]) {
  const ratio = window.devicePixelRatio || 1;
  let [near, least] = [null, (10 * ratio) ** 2];
  for (const point of shown) {
    const square = (point[0] - px) ** 2 + (point[1] - py) ** 2;
    if (square < least) [near, least] = [point, square];
  }
  const hint = element("hint");
  hint.textContent = near ? `row ${near[2].toLocaleString("en")} (${near[3].toPrecision(6)}, ${near[4].toPrecision(6)})` : "";
  hint.style.setProperty("left", `${px / ratio + 12}px`);
  hint.style.setProperty("top", `${py / ratio + 12}px`);
}

addEventListener("keydown", (event) => {
  const step = 0.15 * Math.min(canvas.width, canvas.height);
  const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
  if (event.key in moves) move(...moves[event.key]);
  else if (event.key === "+" || event.key === "=") zoom(1.5);
  else if (event.key === "-") zoom(1 / 1.5);
  else if (event.key === "0") wholeMap();
  else return;
  event.preventDefault();
});
element("in").addEventListener("click", () => zoom(2));
element("out").addEventListener("click", () => zoom(0.5));
element("whole").addEventListener("click", wholeMap);
addEventListener("resize", redraw);
dark.addEventListener("change", () => {
  makeRamp();
  redraw();
});

// For tests and for those who are curious: what is shown, and a promise of when all of it is there.
window.tiles = {
  view,
  zoom,
  drawn: () => shown,
  complete: () => new Promise((done) => {
    settled.push(done);
    redraw();
  }),
};

makeRamp();
fetch("tiles.json")
  .then((answer) => answer.json())
  .then((told) => {
    map = told;
    element("title").textContent = told.title;
    document.title = `${told.title} · winkel`;
    draw();
    wholeMap();
  })
  .catch(() => {
    element("status").textContent = "The server does not answer; is it still running?";
  });
