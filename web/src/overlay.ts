// What lies over the points: the frame of a 3-D map, seams, names, the point in focus with its neighbours, the lasso.

import { project } from "./camera";
import { compareNeighbors } from "./compare";
import type { Data } from "./data";
import { el } from "./dom";
import { NAME_FONT, type PlacedName, placeNames } from "./names";
import type { Grids, Panel } from "./panel";
import type { Drag } from "./stage";
import type { State } from "./state";

export const MARKS = { kept: "#0072B2", missing: "#D55E00", wrong: "#CC79A7" } as const;

export class Overlay {
  readonly canvas = el("canvas", { class: "wk-overlay" });
  linesVisible = true;
  seamsVisible = true;
  namesVisible = true;

  constructor(
    private data: Data,
    private state: State,
    private grids: Grids,
  ) {}

  draw(panels: Panel[], drag: Drag | null, width: number, height: number, ratio: number): void {
    const row = this.state.focus;
    const region = drag && drag.kind !== "move" ? drag : null;
    // Hidden when empty: Chromium without a graphics card goes on showing a canvas that was only cleared.
    const drawn = panels.filter((panel) => row >= 0 || panel.camera.dimensions === 3 || this.hasSeams(panel) || this.hasNames(panel));
    this.canvas.style.visibility = region || drawn.length ? "visible" : "hidden";
    Object.assign(this.canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    const pen = this.canvas.getContext("2d")!;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const panel of drawn) {
      pen.save();
      const { x, y, width: pw, height: ph } = panel.rect;
      pen.beginPath();
      pen.rect(x, y, pw, ph);
      pen.clip();
      pen.translate(x, y);
      if (panel.camera.dimensions === 3) this.drawCube(pen, panel);
      if (this.hasSeams(panel)) this.drawSeams(pen, panel);
      if (this.hasNames(panel)) this.drawNames(pen, panel);
      if (row >= 0) this.drawFocus(pen, panel, row);
      pen.restore();
    }
    if (region) this.drawRegion(pen, region);
  }

  /** The edges of the cube around a 3-D map, which show how it is turned. */
  private drawCube(pen: CanvasRenderingContext2D, panel: Panel): void {
    const { width, height } = panel.rect;
    const m = panel.matrix();
    const corner = (c: number) => project(m, [c & 1, (c >> 1) & 1, c >> 2], width, height);
    pen.strokeStyle = this.state.dark ? "rgb(255 255 255 / .16)" : "rgb(20 30 50 / .13)";
    pen.lineWidth = 1;
    for (let c = 0; c < 8; c++) {
      const from = corner(c);
      for (const bit of [1, 2, 4]) if (!(c & bit) && from) this.line(pen, from, corner(c | bit));
    }
  }

  private hasSeams(panel: Panel): boolean {
    return this.seamsVisible && panel.atRest && this.data.maps[panel.map].seams.length > 0;
  }

  /** Faint bands between places that are neighbours in the data and that the map has torn apart. */
  private drawSeams(pen: CanvasRenderingContext2D, panel: Panel): void {
    const { width, height } = panel.rect;
    const m = panel.matrix();
    const { scale, shift } = panel.from;
    const pixels = panel.camera.scale(width, height) * scale; // of a unit of the map's box
    const color = this.state.dark ? "190 200 215" : "91 101 112";
    for (const [x0, y0, x1, y1, w0, w1, strength] of this.data.maps[panel.map].seams) {
      const a = project(m, [x0 * scale + shift[0], y0 * scale + shift[1], 0.5], width, height);
      const b = project(m, [x1 * scale + shift[0], y1 * scale + shift[1], 0.5], width, height);
      if (!a || !b) continue;
      const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
      const unit = (0.5 * pixels) / (Math.hypot(dx, dy) || 1);
      const [ax, ay, bx, by] = [-dy * unit * w0, dx * unit * w0, -dy * unit * w1, dx * unit * w1];
      pen.beginPath();
      pen.moveTo(a[0] - ax, a[1] - ay);
      pen.lineTo(a[0] + ax, a[1] + ay);
      pen.lineTo(b[0] + bx, b[1] + by);
      pen.lineTo(b[0] - bx, b[1] - by);
      pen.closePath();
      pen.fillStyle = `rgb(${color} / ${(0.06 + 0.2 * strength).toFixed(3)})`;
      pen.fill();
    }
  }

  private hasNames(panel: Panel): boolean {
    return this.namesVisible && panel.atRest && this.data.maps[panel.map].names.length > 0;
  }

  /** Names of regions, those of the largest first, where they cover no other. */
  private drawNames(pen: CanvasRenderingContext2D, panel: Panel): void {
    pen.save();
    Object.assign(pen, { font: NAME_FONT, textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 3.5 });
    pen.strokeStyle = this.state.dark ? "rgb(22 24 28 / .85)" : "rgb(255 255 255 / .85)";
    pen.fillStyle = this.state.dark ? "#f3f5f7" : "#1d2126";
    for (const { text, x, y } of this.placedNames(panel, pen)) {
      pen.strokeText(text, x, y);
      pen.fillText(text, x, y);
    }
    pen.restore();
  }

  /** The names that are written on a panel, with their pixels. */
  placedNames(panel: Panel, pen = this.canvas.getContext("2d")!): PlacedName[] {
    if (!this.hasNames(panel)) return [];
    pen.save();
    pen.font = NAME_FONT;
    const placed = placeNames(panel, this.data.maps[panel.map].names, this.data.n, (text) => pen.measureText(text).width);
    pen.restore();
    return placed;
  }

  private drawFocus(pen: CanvasRenderingContext2D, panel: Panel, row: number): void {
    const at = panel.pixel(row);
    if (!at) return;
    const r = Math.max(4, panel.pointSize(this.state.sizeFactor) / 2 + 2.5);
    const compared = this.linesVisible ? compareNeighbors(this.data, this.grids, panel.map, row) : null;
    if (compared) {
      pen.lineWidth = 1.5;
      pen.strokeStyle = MARKS.missing;
      pen.setLineDash([5, 3]);
      for (const other of compared.missing) this.line(pen, at, panel.pixel(other));
      pen.setLineDash([]);
      for (const other of compared.missing) this.ring(pen, panel.pixel(other), r, MARKS.missing);
      pen.strokeStyle = MARKS.kept;
      for (const other of compared.kept) this.ring(pen, panel.pixel(other), r, MARKS.kept);
      for (const other of compared.wrong) this.cross(pen, panel.pixel(other), r);
    }
    this.ring(pen, at, r + 2, this.state.dark ? "#fff" : "#111", 2.5);
  }

  private line(pen: CanvasRenderingContext2D, a: number[], b: number[] | null): void {
    if (!b) return;
    pen.beginPath();
    pen.moveTo(a[0], a[1]);
    pen.lineTo(b[0], b[1]);
    pen.stroke();
  }

  private ring(pen: CanvasRenderingContext2D, at: number[] | null, radius: number, color: string, width = 1.7): void {
    if (!at) return;
    pen.beginPath();
    pen.arc(at[0], at[1], radius, 0, 2 * Math.PI);
    pen.strokeStyle = this.state.dark ? "#16181c" : "#fff";
    pen.lineWidth = width + 1.5;
    pen.stroke();
    pen.strokeStyle = color;
    pen.lineWidth = width;
    pen.stroke();
  }

  private cross(pen: CanvasRenderingContext2D, at: number[] | null, r: number): void {
    if (!at) return;
    const [x, y] = at;
    for (const [color, width] of [[this.state.dark ? "#16181c" : "#fff", 4], [MARKS.wrong, 2]] as const) {
      pen.strokeStyle = color;
      pen.lineWidth = width;
      this.line(pen, [x - r, y - r], [x + r, y + r]);
      this.line(pen, [x - r, y + r], [x + r, y - r]);
    }
  }

  private drawRegion(pen: CanvasRenderingContext2D, { panel, line }: Drag): void {
    pen.save();
    pen.translate(panel.rect.x, panel.rect.y);
    pen.beginPath();
    line.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
    pen.fillStyle = this.state.dark ? "rgb(120 170 255 / .14)" : "rgb(0 90 180 / .10)";
    pen.fill();
    pen.strokeStyle = this.state.dark ? "#8ab4ff" : "#0059b3";
    pen.lineWidth = 1.3;
    pen.setLineDash([4, 3]);
    pen.stroke();
    pen.restore();
  }
}
