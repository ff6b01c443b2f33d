// The part of the page that holds the maps: canvases, pointer, panels and what is drawn over them.

import type { Rgb } from "./color";
import type { Data } from "./data";
import { el } from "./dom";
import { Renderer } from "./gl";
import { Overlay } from "./overlay";
import { Pace } from "./pace";
import { Grids, Panel } from "./panel";
import type { State } from "./state";

const GAP = 10;
const HEAD = 26; // room for a map's name when there are several
const REACH = 10; // pixels from the pointer within which a point is met

export interface StageEvents {
  hover(row: number, x: number, y: number): void;
  click(row: number): void;
  region(rows: number[], how: "replace" | "add" | "remove"): void;
  moved(panel: Panel): void;
  resized(): void;
}

export type Drag = {
  panel: Panel;
  kind: "move" | "lasso" | "box";
  how: "replace" | "add" | "remove";
  line: [number, number][];
  last: [number, number];
  far: boolean;
};

/** A moment for those who measure pages; the first of its name counts. */
function mark(name: string): void {
  if (performance.getEntriesByName(name).length === 0) performance.mark(name);
}

export class Stage {
  readonly element: HTMLElement;
  readonly canvas = el("canvas", { class: "wk-points" });
  readonly overlay: Overlay;
  readonly grids: Grids;
  panels: Panel[] = [];
  linked = false;
  private names = el("div", { class: "wk-names" });
  private renderer: Renderer;
  private pointers = new Map<number, [number, number]>();
  private drag: Drag | null = null;
  private pinch = 0; // distance of two fingers,
  private between: [number, number] = [0, 0]; // and the place between them
  private asked = false;
  private stale = false;
  private share = 0; // the share of the points that is drawn next, of so many; 0: none is left
  private shares = 1;
  private pace = new Pace();
  private all: Panel[];

  constructor(
    private data: Data,
    private state: State,
    private events: StageEvents,
  ) {
    this.grids = new Grids(data);
    this.overlay = new Overlay(data, state, this.grids);
    this.element = el(
      "div",
      {
        class: "wk-stage",
        tabIndex: 0,
        role: "application",
        "aria-label": `Map of ${data.n} points. Arrow keys move, plus and minus zoom, question mark for help.`,
      },
      this.canvas,
      this.overlay.canvas,
      this.names,
    );
    this.renderer = new Renderer(this.canvas, () => this.redraw());
    this.all = data.maps.map((_, map) => new Panel(data, this.grids, map));
    this.panels = this.all.slice(0, 1);
    this.listen();
    new ResizeObserver(() => {
      this.layout();
      events.resized();
    }).observe(this.element);
  }

  dispose(): void {
    this.renderer.dispose();
  }

  /** Show one map, or all side by side. */
  arrange(maps: number[]): void {
    this.panels = maps.map((map) => this.all[map]);
    for (const panel of this.panels) panel.show(panel.map);
    this.renderer.keepOnly(new Set(this.panels.flatMap((p) => [p.from.points, p.colors])));
    this.layout();
    this.repaint();
  }

  /** The panel that shows a map, at rest. */
  panelOf(map: number): Panel {
    return this.all[map];
  }

  layout(): void {
    const width = this.element.clientWidth;
    const height = this.element.clientHeight;
    const count = this.panels.length;
    let columns = 1;
    let best = 0;
    for (let c = 1; c <= count; c++) {
      const lines = Math.ceil(count / c);
      const side = Math.min((width - GAP * (c - 1)) / c, (height - GAP * (lines - 1)) / lines - HEAD);
      if (side > best) [best, columns] = [side, c];
    }
    const lines = Math.ceil(count / columns);
    const w = (width - GAP * (columns - 1)) / columns;
    const h = (height - GAP * (lines - 1)) / lines;
    this.panels.forEach((panel, i) => {
      panel.rect = { x: (i % columns) * (w + GAP), y: Math.floor(i / columns) * (h + GAP), width: Math.max(1, w), height: Math.max(1, h) };
    });
    this.placeNames();
    this.redraw();
  }

  private placeNames(): void {
    this.names.replaceChildren();
    if (this.panels.length < 2) return;
    for (const { rect, map } of this.panels) {
      const name = el("div", { class: "wk-name" }, this.data.maps[map].name);
      const frame = el("div", { class: "wk-frame" }, name);
      Object.assign(frame.style, { left: `${rect.x}px`, top: `${rect.y}px`, width: `${rect.width}px`, height: `${rect.height}px` });
      this.names.append(frame);
    }
  }

  /** Colours anew, then draw. */
  repaint(): void {
    for (const panel of this.panels) {
      this.state.paint(panel);
      this.renderer.changed(panel.colors);
    }
    this.redraw();
  }

  /** Draw anew at the next picture. */
  redraw(): void {
    this.stale = true;
    this.ask();
  }

  private ask(): void {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame((now) => {
      this.asked = false;
      this.next(now);
    });
  }

  /** Whether all points are on the screen; of very many, a part is shown while the map moves. */
  get whole(): boolean {
    return !this.stale && !this.asked && this.share === 0;
  }

  /** One picture: a share of the points at once, or one more share of those that are drawn behind the scene. */
  private next(now: number): void {
    const { data } = this.state;
    if (this.stale) {
      const shares = this.pace.shares(data.n * this.panels.length, now);
      this.drawNow(undefined, shares);
      this.share = shares > 1 ? 1 : 0;
      this.shares = shares;
    } else if (this.share > 0) {
      this.pace.rest(now);
      this.renderer.collect(this.drawings(1), data.n, this.ratio, this.background(), this.share - 1, this.shares);
      this.share = this.share < this.shares ? this.share + 1 : 0;
      if (this.share === 0) this.renderer.present();
    }
    if (this.share > 0) this.ask();
    mark("winkel-first");
    if (this.whole) mark("winkel-whole");
  }

  private drawings(shares: number) {
    const { sizeFactor, opacity } = this.state;
    // A part of the points stands for all of them: a little larger, and less transparent.
    const [size, solid] = [sizeFactor * Math.min(1.6, shares ** 0.2), 1 - (1 - opacity) ** Math.min(4, shares)];
    return this.panels.map((p) => p.drawing(size, solid));
  }

  private get ratio(): number {
    return Math.min(2, window.devicePixelRatio || 1);
  }

  /** Draw at once: all points, or every `shares`-th. */
  drawNow(ratio = this.ratio, shares = 1): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    this.stale = false;
    this.share = 0;
    if (width === 0 || height === 0) return;
    this.renderer.resize(width, height, ratio);
    this.renderer.draw(this.drawings(shares), this.state.data.n, ratio, this.background(), shares);
    this.overlay.draw(this.panels, this.drag, width, height, ratio);
  }

  background(): Rgb {
    return this.state.dark ? [22, 24, 28] : [255, 255, 255];
  }

  // ------------------------------------------------------------------ pointer

  /** The panel at a place of the stage, and the place inside it. */
  panelAt(x: number, y: number): [Panel, number, number] | null {
    const inside = ({ rect: r }: Panel) => x >= r.x && x < r.x + r.width && y >= r.y && y < r.y + r.height;
    const panel = this.panels.find(inside);
    return panel ? [panel, x - panel.rect.x, y - panel.rect.y] : null;
  }

  private listen(): void {
    const target = this.element;
    target.addEventListener("pointerdown", (e) => this.down(e));
    target.addEventListener("pointermove", (e) => this.move(e));
    target.addEventListener("pointerup", (e) => this.up(e));
    target.addEventListener("pointercancel", (e) => this.up(e));
    target.addEventListener("pointerleave", () => {
      if (!this.drag) this.events.hover(-1, 0, 0);
    });
    target.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    target.addEventListener("dblclick", (e) => {
      const at = this.panelAt(...this.place(e));
      if (at) this.zoom(at[0], 2, at[1], at[2]);
    });
  }

  private place(event: MouseEvent): [number, number] {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private down(event: PointerEvent): void {
    if (event.button > 1) return;
    const place = this.place(event);
    this.pointers.set(event.pointerId, place);
    this.element.setPointerCapture(event.pointerId);
    this.element.focus({ preventScroll: true });
    const at = this.panelAt(...place);
    if (!at || this.pointers.size > 1) {
      this.drag = this.pointers.size > 1 && this.drag ? { ...this.drag, kind: "move", far: true } : this.drag;
      this.pinch = this.spread();
      this.between = this.middle();
      return;
    }
    const tool = this.state.tool;
    const kind = tool === "pan" ? (event.shiftKey && event.button === 0 ? "lasso" : "move") : event.button === 1 ? "move" : tool;
    const how = tool !== "pan" && event.shiftKey ? "add" : event.altKey ? "remove" : "replace";
    this.drag = { panel: at[0], kind, how, line: [[at[1], at[2]]], last: place, far: false };
  }

  private move(event: PointerEvent): void {
    const place = this.place(event);
    if (this.pointers.has(event.pointerId)) this.pointers.set(event.pointerId, place);
    const drag = this.drag;
    if (!drag) {
      const at = this.panelAt(...place);
      const row = at ? at[0].pick(at[1], at[2], REACH) : -1;
      this.events.hover(row, place[0], place[1]);
      return;
    }
    if (this.pointers.size > 1) {
      this.pinched(drag.panel);
      return;
    }
    const [dx, dy] = [place[0] - drag.last[0], place[1] - drag.last[1]];
    if (!drag.far && Math.hypot(dx, dy) < 4) return;
    if (!drag.far) this.events.hover(-1, 0, 0);
    drag.far = true;
    drag.last = place;
    const [x, y] = [place[0] - drag.panel.rect.x, place[1] - drag.panel.rect.y];
    if (drag.kind === "move") this.moveMap(drag.panel, dx, dy, event.ctrlKey || event.buttons === 4);
    else if (drag.kind === "lasso") drag.line.push([x, y]);
    else {
      const [x0, y0] = drag.line[0];
      drag.line = [[x0, y0], [x, y0], [x, y], [x0, y]];
    }
    this.redraw();
  }

  private moveMap(panel: Panel, dx: number, dy: number, other: boolean): void {
    if (panel.camera.dimensions === 3 && !other) panel.camera.orbit(dx, dy);
    else panel.camera.pan(dx, dy, panel.rect.width, panel.rect.height);
    this.changedView(panel);
  }

  private pinched(panel: Panel): void {
    const spread = this.spread();
    const [x, y] = this.middle();
    if (this.pinch > 0 && spread > 0) {
      this.moveMap(panel, x - this.between[0], y - this.between[1], true);
      this.zoom(panel, spread / this.pinch, x - panel.rect.x, y - panel.rect.y);
    }
    this.pinch = spread;
    this.between = [x, y];
  }

  private middle(): [number, number] {
    const [a, b] = [...this.pointers.values()];
    return a && b ? [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2] : (a ?? [0, 0]);
  }

  private spread(): number {
    const [a, b] = [...this.pointers.values()];
    return a && b ? Math.hypot(a[0] - b[0], a[1] - b[1]) : 0;
  }

  private up(event: PointerEvent): void {
    this.pointers.delete(event.pointerId);
    const drag = this.drag;
    if (!drag || this.pointers.size > 0) return;
    this.drag = null;
    if (event.type === "pointercancel") {
      this.redraw();
      return;
    }
    if (!drag.far) {
      this.events.click(drag.panel.pick(drag.line[0][0], drag.line[0][1], REACH));
    } else if (drag.kind !== "move") {
      this.events.region(drag.panel.inside(drag.line), drag.how);
    }
    this.redraw();
  }

  private wheel(event: WheelEvent): void {
    const at = this.panelAt(...this.place(event));
    if (!at) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    this.zoom(at[0], Math.exp(-Math.max(-400, Math.min(400, event.deltaY * lines)) * 0.002), at[1], at[2]);
  }

  // ------------------------------------------------------------------ view

  zoom(panel: Panel, factor: number, x = panel.rect.width / 2, y = panel.rect.height / 2): void {
    panel.camera.zoomAt(factor, x, y, panel.rect.width, panel.rect.height);
    this.changedView(panel);
  }

  pan(panel: Panel, dx: number, dy: number): void {
    this.moveMap(panel, dx, dy, false);
  }

  /** Back to the first view; from there, to that of all points. */
  fit(): void {
    const home = this.panels.every((panel) => panel.camera.atHome);
    for (const panel of this.all) {
      if (home) panel.seeAll();
      else panel.camera.reset();
    }
    this.redraw();
  }

  /** Bring a row into the middle, near enough to be told apart. */
  center(row: number): void {
    for (const panel of this.panels) {
      const [x, y, z] = panel.position(row);
      Object.assign(panel.camera, { x, y, z, zoom: Math.max(panel.camera.zoom, panel.camera.dimensions === 2 ? 4 : 1.5) });
    }
    this.redraw();
  }

  private changedView(panel: Panel): void {
    if (this.linked) {
      for (const other of this.panels) {
        if (other !== panel && other.camera.dimensions === panel.camera.dimensions) other.camera.copy(panel.camera);
      }
    }
    this.events.moved(panel);
    this.redraw();
  }
}
