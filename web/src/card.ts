// The card of one row: who it is, what it looks like, and what became of its neighbours.

import { css } from "./color";
import { compareNeighbors } from "./compare";
import type { Data, Images } from "./data";
import { add, el, replace } from "./dom";
import type { Stage } from "./stage";
import type { State } from "./state";

const LONG = 280; // characters of a text that fit on a card
const LISTED = 15; // neighbours shown
const AWAY = 18; // pixels from the point to its card,
const EDGE = 4; // and from the card to the edge of the stage

export class Card {
  readonly element = el("aside", { class: "wk-card", hidden: true, "aria-live": "polite" });

  constructor(
    private data: Data,
    private state: State,
    private stage: Stage,
    private go: (row: number) => void,
  ) {
    // What happens on the card is not meant for the map below it.
    for (const event of ["pointerdown", "pointermove", "dblclick", "wheel"]) this.element.addEventListener(event, (e) => e.stopPropagation());
  }

  /** Show the row that has the focus, near a place of the stage. */
  show(x: number, y: number): void {
    const row = this.state.focus;
    this.element.hidden = row < 0;
    if (row < 0) return;
    this.element.classList.toggle("wk-pinned", this.state.pinned === row);
    replace(this.element, this.head(row));
    const body = el("div", { class: "wk-card-body" });
    if (this.data.images) body.append(picture(this.data.images, row, 84));
    body.append(this.fields(row));
    add(this.element, body, this.text(row), this.neighbors(row));
    this.place(x, y);
  }

  /** Beside the point; where there is no room for that, above or below it, over the whole width and not over the point. */
  private place(x: number, y: number): void {
    const { clientWidth: width, clientHeight: height } = this.stage.element;
    const style = this.element.style;
    Object.assign(style, { width: "", maxHeight: "" });
    const wide = this.element.offsetWidth;
    x = clamp(x, 0, width);
    y = clamp(y, 0, height);
    if (wide + AWAY + EDGE <= Math.max(x, width - x)) {
      style.left = `${x + AWAY + wide + EDGE <= width ? x + AWAY : x - wide - AWAY}px`;
      style.top = `${clamp(y - 20, EDGE, height - this.element.offsetHeight - EDGE)}px`;
    } else {
      const below = y < height / 2;
      Object.assign(style, { width: `${width - 2 * EDGE}px`, left: `${EDGE}px`, maxHeight: `${Math.max(y, height - y) - AWAY - EDGE}px` });
      style.top = `${below ? height - this.element.offsetHeight - EDGE : EDGE}px`;
    }
  }

  private head(row: number): HTMLElement {
    const { data, state } = this;
    const swatch = el("span", { class: "wk-swatch" });
    swatch.style.background = css(state.colorOf(row, this.stage.panels[0]));
    const name = data.ids ? data.idOf(row) : `row ${row}`;
    return el("div", { class: "wk-card-head" }, swatch, el("bdi", { class: "wk-card-id" }, short(name, 80)), data.labels && el("bdi", { class: "wk-card-label" }, short(data.labels.shown(row), 60)));
  }

  private fields(row: number): HTMLElement {
    const { data } = this;
    const list = el("dl", { class: "wk-fields" });
    const line = (name: string, value: string) => add(list, el("dt", {}, short(name, 40)), el("dd", {}, el("bdi", {}, short(value, 120))));
    for (const column of [...data.values, ...data.fields]) line(column.name, column.shown(row));
    for (const { map } of this.stage.panels) {
      const reliability = data.maps[map].reliability;
      const many = this.stage.panels.length > 1 ? ` in ${data.maps[map].name}` : "";
      if (reliability) line(`reliability${many}`, `${Math.round((100 * reliability[row]) / 255)} %`);
    }
    return list;
  }

  private text(row: number): HTMLElement | null {
    return this.data.text ? el("p", { class: "wk-text", dir: "auto" }, short(this.data.text.shown(row), LONG)) : null;
  }

  private neighbors(row: number): HTMLElement | null {
    const rows: HTMLElement[] = [];
    let truth: number[] = [];
    for (const { map } of this.stage.panels) {
      const found = compareNeighbors(this.data, this.stage.grids, map, row);
      if (!found) continue;
      truth = found.truth;
      rows.push(
        el(
          "div",
          { class: "wk-kept" },
          this.stage.panels.length > 1 && el("b", {}, short(this.data.maps[map].name, 20)),
          el("span", { class: "wk-mark wk-mark-kept" }, `${found.kept.length} kept`),
          el("span", { class: "wk-mark wk-mark-missing" }, `${found.missing.length} missing`),
          el("span", { class: "wk-mark wk-mark-wrong" }, `${found.wrong.length} false`),
        ),
      );
    }
    if (rows.length === 0) return null;
    const list = el("div", { class: "wk-near" });
    const listed = truth.slice(0, LISTED);
    for (const other of listed) list.append(this.neighbor(other));
    const compared = truth.length > listed.length ? ` (${truth.length} are compared)` : "";
    return el("section", {}, el("h2", {}, listed.length ? `Its ${listed.length} nearest in the data${compared}` : "Neighbours"), list, ...rows);
  }

  private neighbor(row: number): HTMLElement {
    const { data, state } = this;
    const swatch = el("span", { class: "wk-swatch" });
    swatch.style.background = css(state.colorOf(row, this.stage.panels[0]));
    const name = data.idOf(row);
    const title = data.labels ? `${name}: ${data.labels.shown(row)}` : name;
    const content = data.images ? picture(data.images, row, 30) : el("bdi", {}, short(name, 12));
    return el("button", { class: "wk-neighbor", type: "button", title: short(title, 200), on: { click: () => this.go(row) } }, content, swatch);
  }
}

function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(value, high));
}

/** The start of a text. */
export function short(text: string, length: number): string {
  const characters = [...text.slice(0, 2 * length + 2)]; // whole characters, also beyond 16 bits
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
}

/** The picture of a row on a canvas, `size` pixels high or wide. */
export function picture({ width, height, channels, bytes }: Images, row: number, size: number): HTMLCanvasElement {
  const canvas = el("canvas", { class: "wk-image", width, height });
  const shown = size / Math.max(width, height);
  Object.assign(canvas.style, { width: `${width * shown}px`, height: `${height * shown}px` });
  const pixels = new ImageData(width, height);
  let at = row * width * height * channels;
  for (let i = 0; i < width * height; i++, at += channels) {
    for (let c = 0; c < 3; c++) pixels.data[4 * i + c] = bytes[at + (channels === 3 ? c : 0)];
    pixels.data[4 * i + 3] = 255;
  }
  canvas.getContext("2d")!.putImageData(pixels, 0, 0);
  return canvas;
}
