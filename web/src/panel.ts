// One map on the screen: where its points are now, which of them lies under a pixel or inside a line.

import { Camera, type Point, project } from "./camera";
import type { Data } from "./data";
import { HIDDEN, PLAIN, type PanelDrawing, type Placement } from "./gl";
import { Grid } from "./grid";

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

const UNIT = 1 / 65535;

/** The place of a map's points at rest. */
export function mapPlacement(data: Data, map: number): Placement {
  return placement(data, map, data.maps[map].points, 1, [0, 0, 0]);
}

/**
 * The place of points of a map whose coordinates, times scale, plus shift, are in units of the map's box. What is seen
 * first becomes the unit square, and a flat map lies in the middle of a cube, so that it can turn into a solid one.
 */
export function placement(data: Data, map: number, points: Uint16Array, scale: number, shift: number[]): Placement {
  const { stride, view } = data.maps[map];
  const moved = (d: number) => (shift[d] - view.low[d]) / view.side;
  return { points, stride, scale: scale / view.side, shift: [moved(0), moved(1), stride === 2 ? 0.5 : moved(2)] };
}

/** The grid of a flat map, made when first needed. */
export class Grids {
  private made = new Map<number, Grid>();

  constructor(private data: Data) {}

  of(map: number): Grid | null {
    const { dimensions, points } = this.data.maps[map];
    if (dimensions === 3) return null;
    let grid = this.made.get(map);
    if (!grid) this.made.set(map, (grid = new Grid(points, this.data.n)));
    return grid;
  }
}

export class Panel {
  rect: Rect = { x: 0, y: 0, width: 1, height: 1 };
  camera: Camera;
  from: Placement;
  to: Placement;
  mix = 0;
  anyFaint = false;
  readonly colors: Uint8Array;

  constructor(
    private data: Data,
    private grids: Grids,
    public map: number,
  ) {
    this.camera = new Camera(data.maps[map].dimensions);
    this.from = this.to = mapPlacement(data, map);
    this.colors = new Uint8Array(4 * data.n);
  }

  /** Show a map at rest. */
  show(map: number): void {
    this.map = map;
    this.from = this.to = mapPlacement(this.data, map);
    this.mix = 0;
    this.useDimensions(this.data.maps[map].dimensions);
  }

  /** Show points on the way from one placement to another. */
  between(from: Placement, to: Placement, mix: number): void {
    Object.assign(this, { from, to, mix });
  }

  useDimensions(dimensions: 2 | 3): void {
    if (this.camera.dimensions !== dimensions) this.camera = new Camera(dimensions);
  }

  /** The camera that sees all points, also those that the first view leaves out. */
  seeAll(): void {
    const { low, side } = this.data.maps[this.map].view;
    const middle = (d: number) => (d < low.length ? (0.5 - low[d]) / side : 0.5);
    Object.assign(this.camera, { x: middle(0), y: middle(1), z: middle(2), zoom: side });
  }

  get atRest(): boolean {
    return this.mix === 0 && this.from.points === this.data.maps[this.map].points;
  }

  matrix(): Float32Array {
    return this.camera.matrix(this.rect.width, this.rect.height);
  }

  position(row: number): Point {
    const { from, to, mix } = this;
    const at = (place: Placement, d: number) =>
      (d < place.stride && d < 3 ? place.points[row * place.stride + d] * UNIT * place.scale : 0) + place.shift[d];
    const along = (d: number) => at(from, d) * (1 - mix) + at(to, d) * mix;
    return [along(0), along(1), along(2)];
  }

  /** Pixel of a row inside the panel, or null behind the camera. */
  pixel(row: number): [number, number, number] | null {
    return project(this.matrix(), this.position(row), this.rect.width, this.rect.height);
  }

  isFull(row: number): boolean {
    return this.colors[4 * row + 3] >= PLAIN;
  }

  /** The row under a pixel, within a radius, or −1. Points that are faint or hidden are passed over. */
  pick(px: number, py: number, radius: number): number {
    const grid = this.atRest ? this.grids.of(this.map) : null;
    const { width, height } = this.rect;
    if (grid) {
      const [x, y] = this.camera.unproject(px, py, width, height);
      const { scale, shift } = this.from;
      const steps = 65535 / scale;
      const reach = (radius / this.camera.scale(width, height)) * steps;
      return grid.nearest((x - shift[0]) * steps, (y - shift[1]) * steps, reach, (row) => this.isFull(row));
    }
    let best = -1;
    let least = Infinity;
    this.eachPixel((row, x, y, depth) => {
      const off = Math.hypot(x - px, y - py);
      if (off > radius || !this.isFull(row)) return;
      const cost = off / radius + (this.camera.dimensions === 3 ? (4 * depth) / this.camera.distance : 0); // in front first
      if (cost < least) [least, best] = [cost, row];
    });
    return best;
  }

  /** Rows inside a closed line of pixels; hidden ones are left out. */
  inside(line: [number, number][]): number[] {
    const xs = line.map((p) => p[0]);
    const ys = line.map((p) => p[1]);
    const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const rows: number[] = [];
    this.eachPixel((row, x, y) => {
      if (x < x0 || x > x1 || y < y0 || y > y1 || this.colors[4 * row + 3] === HIDDEN) return;
      if (contains(xs, ys, x, y)) rows.push(row);
    });
    return rows;
  }

  /** Visit every row in front of the camera with its pixel. */
  eachPixel(visit: (row: number, x: number, y: number, depth: number) => void): void {
    const { from, to, mix, data } = this;
    const { width, height } = this.rect;
    const m = this.matrix();
    const [a, b] = [(1 - mix) * from.scale * UNIT, mix * to.scale * UNIT];
    const shift = [0, 1, 2].map((d) => from.shift[d] * (1 - mix) + to.shift[d] * mix);
    const solid = [from.stride === 4, to.stride === 4];
    for (let row = 0; row < data.n; row++) {
      const f = row * from.stride;
      const t = row * to.stride;
      const x = from.points[f] * a + to.points[t] * b + shift[0];
      const y = from.points[f + 1] * a + to.points[t + 1] * b + shift[1];
      const z = (solid[0] ? from.points[f + 2] * a : 0) + (solid[1] ? to.points[t + 2] * b : 0) + shift[2];
      const w = m[3] * x + m[7] * y + m[11] * z + m[15];
      if (w <= 0) continue;
      const cx = (m[0] * x + m[4] * y + m[8] * z + m[12]) / w;
      const cy = (m[1] * x + m[5] * y + m[9] * z + m[13]) / w;
      visit(row, ((cx + 1) / 2) * width, ((1 - cy) / 2) * height, w);
    }
  }

  /** Diameter of a point in pixels: points take about a quarter of the panel, and grow slowly with zoom. */
  pointSize(factor: number): number {
    const { width, height } = this.rect;
    const free = Math.sqrt((0.2 * Math.min(width, height) ** 2) / this.data.n);
    const size = Math.max(1.6, Math.min(6.5, free));
    const growth = this.camera.dimensions === 2 ? Math.max(1, this.camera.zoom) ** 0.35 : 1;
    return Math.min(size * growth, 14) * factor;
  }

  drawing(sizeFactor: number, opacity: number): PanelDrawing {
    const { from, to, mix, colors, anyFaint, camera } = this;
    return {
      ...this.rect,
      from,
      to,
      mix,
      colors,
      anyFaint,
      matrix: this.matrix(),
      distance: camera.dimensions === 3 ? camera.distance : 0,
      size: this.pointSize(sizeFactor),
      opacity,
    };
  }
}

function contains(xs: number[], ys: number[], x: number, y: number): boolean {
  let inside = false;
  for (let i = 0, j = xs.length - 1; i < xs.length; j = i++) {
    if (ys[i] > y !== ys[j] > y && x < ((xs[j] - xs[i]) * (y - ys[i])) / (ys[j] - ys[i]) + xs[i]) inside = !inside;
  }
  return inside;
}
