// What the person has chosen, and the colours that follow from it.

import { categoryColor, type Rgb, SCALE } from "./color";
import { type CategoryColumn, type Column, type Data, type NumberColumn, scaleEnds } from "./data";
import { FAINT, PLAIN, STRONG } from "./gl";
import type { Panel } from "./panel";

export type Tool = "pan" | "lasso" | "box";

/** What points are coloured by. */
export type Coloring =
  | { kind: "none"; name: string }
  | { kind: "reliability"; name: string }
  | { kind: "category"; name: string; column: CategoryColumn }
  | { kind: "number"; name: string; column: NumberColumn };

const NOTHING: Coloring = { kind: "none", name: "one colour" };
const UNKNOWN: Rgb = [150, 150, 150];

export class State {
  coloring: Coloring = NOTHING;
  isolated = new Set<number>();
  threshold = 0; // reliability below which points fade, 0 to 1
  selected: Uint8Array;
  selectedCount = 0;
  hits: Uint8Array | null = null; // rows that the search found
  hover = -1;
  pinned = -1;
  tool: Tool = "pan";
  dark = false;
  sizeFactor = 1;
  opacity: number;
  readonly mostReliable: number; // upper end of the scale of reliability, in 255ths; the same for all maps

  constructor(readonly data: Data) {
    this.selected = new Uint8Array(data.n);
    this.coloring = this.colorings()[0];
    this.mostReliable = Math.max(1, ...data.maps.map(({ reliability }) => (reliability ? scaleEnds(reliability)[1] : 0)));
    this.opacity = data.n > 500_000 ? 0.45 : data.n > 100_000 ? 0.6 : data.n > 20_000 ? 0.75 : 0.9;
  }

  /** The row that the card shows. */
  get focus(): number {
    return this.hover >= 0 ? this.hover : this.pinned;
  }

  /** All there is to colour by, the most telling first. */
  colorings(): Coloring[] {
    const { labels, values, maps, fields, features } = this.data;
    const list: Coloring[] = [];
    const take = (column: Column) => {
      if (column.kind === "category") list.push({ kind: "category", name: column.name, column });
      else if (column.kind === "number") list.push({ kind: "number", name: column.name, column });
    };
    if (labels) take(labels);
    for (const column of values) take(column);
    if (maps.some((map) => map.reliability)) list.push({ kind: "reliability", name: "reliability" });
    for (const column of [...fields, ...features]) take(column);
    return [...list, NOTHING];
  }

  get hasReliability(): boolean {
    return this.data.maps.some((map) => map.reliability);
  }

  categoryColor(code: number): Rgb {
    return categoryColor(code, this.data.palette, this.dark);
  }

  /** Colour of a row's point or, in lists, its swatch. */
  colorOf(row: number, panel: Panel): Rgb {
    const at = 4 * row;
    return [panel.colors[at], panel.colors[at + 1], panel.colors[at + 2]];
  }

  select(rows: number[], how: "replace" | "add" | "remove"): void {
    if (how === "replace") this.selected.fill(0);
    for (const row of rows) this.selected[row] = how === "remove" ? 0 : 1;
    this.count();
  }

  selectMask(mask: Uint8Array): void {
    this.selected.set(mask);
    this.count();
  }

  invert(): void {
    for (let i = 0; i < this.selected.length; i++) this.selected[i] ^= 1;
    this.count();
  }

  selectedRows(): number[] {
    const rows: number[] = [];
    for (let i = 0; i < this.selected.length; i++) if (this.selected[i]) rows.push(i);
    return rows;
  }

  private count(): void {
    let count = 0;
    for (let i = 0; i < this.selected.length; i++) count += this.selected[i];
    this.selectedCount = count;
  }

  /** Colours and states of a panel's points. */
  paint(panel: Panel): void {
    this.paintColors(panel);
    const { colors } = panel;
    const reliability = this.data.maps[panel.map].reliability;
    const limit = Math.ceil(this.threshold * 255);
    const codes = this.coloring.kind === "category" && this.isolated.size > 0 ? this.coloring.column.codes : null;
    const only = this.hits ?? (this.selectedCount > 0 ? this.selected : null);
    const strong = this.hits ? STRONG : PLAIN;
    let anyFaint = false;
    for (let i = 0; i < this.data.n; i++) {
      const faint =
        (only !== null && only[i] === 0) ||
        (codes !== null && !this.isolated.has(codes[i])) ||
        (reliability !== null && reliability[i] < limit);
      colors[4 * i + 3] = faint ? FAINT : strong;
      anyFaint ||= faint;
    }
    panel.anyFaint = anyFaint;
  }

  private paintColors(panel: Panel): void {
    const { colors } = panel;
    const { coloring, data } = this;
    if (coloring.kind === "category") {
      const { names, codes } = coloring.column;
      const table = new Uint8Array(3 * names.length);
      for (let c = 0; c < names.length; c++) table.set(this.categoryColor(c).map(Math.round), 3 * c);
      this.fill(colors, table, (i) => codes[i]);
    } else if (coloring.kind === "number") {
      const { values, low, high } = coloring.column;
      const step = 255 / (high - low || 1);
      this.fill(colors, SCALE, (i) => (Number.isFinite(values[i]) ? Math.max(0, Math.min(255, Math.round((values[i] - low) * step))) : -1));
    } else {
      const reliability = coloring.kind === "reliability" ? data.maps[panel.map].reliability : null;
      const one = new Uint8Array(this.categoryColor(0));
      const step = 255 / this.mostReliable;
      if (reliability) this.fill(colors, SCALE, (i) => Math.min(255, Math.round(reliability[i] * step)));
      else if (coloring.kind === "reliability") this.fill(colors, SCALE, () => -1);
      else this.fill(colors, one, () => 0);
    }
  }

  private fill(colors: Uint8Array, table: Uint8Array, index: (row: number) => number): void {
    for (let i = 0; i < this.data.n; i++) {
      const k = index(i);
      for (let c = 0; c < 3; c++) colors[4 * i + c] = k < 0 ? UNKNOWN[c] : table[3 * k + c];
    }
  }
}
