// Files for the person: the selection as CSV or JSON, the picture as PNG or SVG.

import { css } from "./color";
import type { Data } from "./data";
import type { Stage } from "./stage";
import type { State } from "./state";

const MOST_CIRCLES = 30_000; // beyond that an SVG holds the points as one picture

export function download(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function fileName(title: string, what: string, ending: string): string {
  const plain = title.replace(/[^\p{L}\p{N} _-]+/gu, "").trim().replace(/\s+/g, "-").slice(0, 60);
  return `${plain || "winkel"}-${what}.${ending}`;
}

/** One record a row: number, id, label, places in every map, values and fields. */
export function records(data: Data, rows: number[]): Record<string, string | number>[] {
  return rows.map((row) => {
    const record: Record<string, string | number> = { row };
    if (data.ids) record.id = data.ids.shown(row);
    if (data.labels) record.label = data.labels.shown(row);
    for (const { name, points, stride, dimensions, low, side, reliability } of data.maps) {
      for (let d = 0; d < dimensions; d++) {
        record[`${name}.${"xyz"[d]}`] = Number((low[d] + (points[row * stride + d] / 65535) * side).toPrecision(6));
      }
      if (reliability) record[`${name}.reliability`] = Number((reliability[row] / 255).toFixed(3));
    }
    for (const column of [...data.values, ...data.fields]) {
      const number = column.kind === "number" ? column.values[row] : Number.NaN;
      // A number of single precision is true to seven digits; more would be noise.
      const digits = column.kind === "number" && column.values instanceof Float32Array ? 7 : 15;
      record[column.name] = Number.isFinite(number) ? Number(number.toPrecision(digits)) : column.shown(row);
    }
    if (data.text) record.text = data.text.shown(row);
    return record;
  });
}

export function toCsv(list: Record<string, string | number>[]): string {
  const quoted = (value: string | number) => (/[",\n\r]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  const names = Object.keys(list[0] ?? { row: 0 });
  const lines = list.map((record) => names.map((name) => quoted(record[name])).join(","));
  return `${[names.map(quoted).join(","), ...lines].join("\r\n")}\r\n`;
}

/** The maps as they stand on the screen, twice as fine, on their background. */
export function toCanvas(stage: Stage): HTMLCanvasElement {
  const ratio = 2;
  stage.drawNow(ratio);
  const canvas = document.createElement("canvas");
  canvas.width = stage.canvas.width;
  canvas.height = stage.canvas.height;
  const pen = canvas.getContext("2d")!;
  pen.fillStyle = css(stage.background());
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(stage.canvas, 0, 0);
  pen.drawImage(stage.overlay.canvas, 0, 0);
  stage.redraw();
  return canvas;
}

export function toPng(stage: Stage): Promise<Blob> {
  const canvas = toCanvas(stage);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture could not be written."))), "image/png");
  });
}

const escaped = (text: string) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, "");

export function toSvg(stage: Stage, state: State): string {
  const { clientWidth: width, clientHeight: height } = stage.element;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif">`,
    `<rect width="100%" height="100%" fill="${css(stage.background())}"/>`,
  ];
  if (state.data.n * stage.panels.length > MOST_CIRCLES) {
    parts.push(`<image width="${width}" height="${height}" href="${toCanvas(stage).toDataURL("image/png")}"/>`);
  } else {
    for (const panel of stage.panels) parts.push(...circles(stage, state, panel));
  }
  parts.push(...legend(state, height), "</svg>");
  return parts.join("\n");
}

function circles(stage: Stage, state: State, panel: Stage["panels"][number]): string[] {
  const { x, y, width, height } = panel.rect;
  const clip = `panel${panel.map}`;
  const radius = panel.pointSize(state.sizeFactor) / 2;
  const list: { depth: number; text: string }[] = [];
  panel.eachPixel((row, px, py, depth) => {
    if (px < -9 || py < -9 || px > width + 9 || py > height + 9) return;
    const full = panel.isFull(row);
    const near = panel.camera.dimensions === 3 ? panel.camera.distance / depth : 1;
    const text = `<circle cx="${px.toFixed(1)}" cy="${py.toFixed(1)}" r="${(radius * near).toFixed(2)}" fill="${css(state.colorOf(row, panel))}" opacity="${full ? state.opacity : 0.12}"/>`;
    list.push({ depth: full ? depth : depth + 1e6, text });
  });
  list.sort((a, b) => b.depth - a.depth);
  const name = stage.panels.length > 1 ? `<text x="10" y="18" font-size="13" fill="${state.dark ? "#ddd" : "#333"}">${escaped(state.data.maps[panel.map].name)}</text>` : "";
  return [
    `<clipPath id="${clip}"><rect width="${width}" height="${height}"/></clipPath>`,
    `<g transform="translate(${x} ${y})" clip-path="url(#${clip})">`,
    ...list.map((item) => item.text),
    ...stage.overlay.placedNames(panel).map(({ text, x: at, y: down }) => `<text x="${at.toFixed(1)}" y="${(down + 4).toFixed(1)}" font-size="13" font-weight="600" text-anchor="middle" fill="${state.dark ? "#f3f5f7" : "#1d2126"}" stroke="${css(stage.background())}" stroke-width="3" stroke-opacity=".8" paint-order="stroke">${escaped(text)}</text>`),
    name,
    "</g>",
  ];
}

function legend(state: State, height: number): string[] {
  if (state.coloring.kind !== "category") return [];
  const names = state.coloring.column.names.slice(0, 20);
  const top = height - 18 * names.length;
  const ink = state.dark ? "#ddd" : "#333";
  return names.flatMap((name, code) => [
    `<circle cx="14" cy="${top + 18 * code}" r="5" fill="${css(state.categoryColor(code))}"/>`,
    `<text x="26" y="${top + 18 * code + 4}" font-size="12" fill="${ink}">${escaped(name.slice(0, 60))}</text>`,
  ]);
}
