// Two doors to the same program: a page that holds or fetches its data, and a notebook widget.

import "./style.css";
import { App } from "./app";
import { PageSource, ServerSource, type Source } from "./codec";
import { el } from "./dom";

/** Start the explorer in an element; the promise is kept on it as `explorer`. */
export function mount(root: HTMLElement, source: Source): Promise<App> {
  const started = App.start(root, source).catch((error: unknown) => {
    root.classList.add("wk");
    root.replaceChildren(el("p", { class: "wk-error", role: "alert" }, error instanceof Error ? error.message : String(error)));
    throw error;
  });
  Object.assign(root, { explorer: started });
  return started;
}

interface WidgetModel {
  get(name: "parts"): Record<string, DataView>;
  get(name: "height"): number;
  get(name: "selection"): number[];
  set(name: "selection", rows: number[]): void;
  save_changes(): void;
  on(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
}

/** Show the explorer in a notebook's cell; `selection` goes both ways. Returns what ends it. */
async function render({ model, el: cell }: { model: WidgetModel; el: HTMLElement }): Promise<() => void> {
  const root = el("div", { class: "wk-cell" });
  root.style.height = `${model.get("height")}px`;
  cell.append(root);
  const parts = model.get("parts");
  const app = await mount(root, {
    async load(name) {
      const view = parts[name];
      return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    },
  });
  const same = (a: number[], b: number[]) => a.length === b.length && a.every((row, i) => row === b[i]);
  app.onSelection = (rows) => {
    model.set("selection", rows);
    model.save_changes();
  };
  const take = () => {
    const rows = model.get("selection");
    if (!same(rows, app.state.selectedRows())) app.select(() => app.state.select(rows, "replace"));
  };
  model.on("change:selection", take);
  if (model.get("selection").length) take();
  return () => {
    model.off("change:selection", take);
    app.dispose();
  };
}

export default { render };

const page = document.getElementById("winkel-explorer");
if (page) {
  const where = page.dataset.source ?? "inside";
  mount(page, where === "inside" ? new PageSource() : new ServerSource(where)).catch(() => {});
}
