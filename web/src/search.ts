// Finding rows by id, label, text or field.

import { css } from "./color";
import type { Column, Data } from "./data";
import { add, el, replace } from "./dom";
import { short } from "./card";
import type { State } from "./state";

const LISTED = 30;

export interface SearchEvents {
  found(hits: Uint8Array | null): void;
  go(row: number): void;
  select(hits: Uint8Array): void;
}

export class Search {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;
  private list = el("div", { class: "wk-found", hidden: true });
  private texts: Map<Column, string[]> = new Map();
  private timer = 0;
  private hits: Uint8Array | null = null;
  private rows: number[] = [];
  private at = -1;

  constructor(
    private data: Data,
    private state: State,
    private events: SearchEvents,
  ) {
    this.input = el("input", {
      type: "search",
      placeholder: "Search id or text",
      "aria-label": "Search rows by id or text",
      spellcheck: false,
      on: {
        input: () => {
          clearTimeout(this.timer);
          this.timer = window.setTimeout(() => this.run(), data.n > 200_000 ? 350 : 120);
        },
        keydown: (event: KeyboardEvent) => this.key(event),
      },
    });
    this.element = el("div", { class: "wk-search", role: "search" }, this.input, this.list);
  }

  clear(): void {
    this.input.value = "";
    this.run();
  }

  run(): void {
    const wanted = this.input.value.trim().toLowerCase();
    this.rows = [];
    this.at = -1;
    this.hits = wanted ? this.find(wanted) : null;
    this.show();
    this.events.found(this.hits);
  }

  /** Go to the next row found. */
  next(step: number): void {
    if (this.rows.length === 0) return;
    this.at = (this.at + step + this.rows.length) % this.rows.length;
    this.events.go(this.rows[this.at]);
  }

  private find(wanted: string): Uint8Array {
    const { data } = this;
    const hits = new Uint8Array(data.n);
    const mark = (row: number) => {
      if (!hits[row]) this.rows.push(row);
      hits[row] = 1;
    };
    if (!data.ids) {
      if (/^\d+$/.test(wanted) && Number(wanted) < data.n) mark(Number(wanted));
    }
    const columns = [data.ids, data.labels, data.text, ...data.fields.filter((f) => f.kind !== "number")];
    for (const column of columns) {
      if (!column) continue;
      if (column.kind === "category") {
        const match = column.names.map((name) => name.toLowerCase().includes(wanted));
        if (match.includes(true)) for (let i = 0; i < data.n; i++) if (match[column.codes[i]]) mark(i);
      } else {
        const texts = this.lower(column);
        for (let i = 0; i < data.n; i++) if (texts[i].includes(wanted)) mark(i);
      }
    }
    return hits;
  }

  private lower(column: Column): string[] {
    let texts = this.texts.get(column);
    if (!texts) {
      texts = Array.from({ length: this.data.n }, (_, row) => column.shown(row).toLowerCase());
      this.texts.set(column, texts);
    }
    return texts;
  }

  private show(): void {
    const { data, hits, rows, list } = this;
    list.hidden = hits === null;
    replace(list);
    if (!hits) return;
    const count = rows.length;
    add(
      list,
      el(
        "div",
        { class: "wk-found-head" },
        el("span", { "aria-live": "polite" }, count === 0 ? "nothing found" : `${count.toLocaleString("en")} found`),
        count > 0 && el("button", { type: "button", class: "wk-small", on: { click: () => this.events.select(hits) } }, "Select them"),
      ),
    );
    for (const row of rows.slice(0, LISTED)) {
      const swatch = el("span", { class: "wk-swatch" });
      if (data.labels) swatch.style.background = css(this.state.categoryColor(data.labels.codes[row]));
      const rest = data.text?.shown(row) ?? data.labels?.shown(row) ?? "";
      list.append(
        el(
          "button",
          { type: "button", class: "wk-hit", on: { click: () => this.events.go(row) } },
          swatch,
          el("bdi", {}, short(data.idOf(row), 40)),
          el("bdi", { class: "wk-hit-text" }, short(rest, 60)),
        ),
      );
    }
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Enter") {
      clearTimeout(this.timer);
      if (!this.hits) this.run();
      this.next(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      this.clear();
      this.input.blur();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
