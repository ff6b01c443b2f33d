// Elements made by code. Text always becomes a text node, never markup.

type Props = { class?: string; on?: Record<string, (event: never) => void> } & Record<string, unknown>;
export type Child = Node | string | number | null | undefined | false;

/** An element with properties (`class`, `on`, `aria-…`, `data-…`, or its own) and children. */
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null) continue;
    if (name === "class") element.className = String(value);
    else if (name === "on") {
      for (const [event, listener] of Object.entries(value as Record<string, EventListener>)) element.addEventListener(event, listener);
    } else if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, String(value));
    else Object.assign(element, { [name]: value });
  }
  add(element, ...children);
  return element;
}

export function add(parent: Element, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  add(parent, ...children);
}

const SVG = "http://www.w3.org/2000/svg";

/** A small line drawing of 20 × 20, from the `d` of its path. */
export function icon(path: string): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("class", "wk-icon");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

export const ICONS = {
  pan: "M10 2v16M2 10h16M10 2l-2.5 2.5M10 2l2.5 2.5M10 18l-2.5-2.5M10 18l2.5-2.5M2 10l2.5-2.5M2 10l2.5 2.5M18 10l-2.5-2.5M18 10l-2.5 2.5",
  lasso: "M6.5 14C3.5 13 2 11 2 8.7 2 5.5 5.6 3 10 3s8 2.5 8 5.7-3.6 5.7-8 5.7c-1 0-2-.1-2.9-.4M6.5 14a1.8 1.8 0 1 0 .8 2.4C7.6 15.500 7 14 6.500 14zM6.800 16.800C6.500 18 5 18.500 4 18.500",
  box: "M3 3h3M9 3h2M14 3h3v3M17 9v2M17 14v3h-3M11 17H9M6 17H3v-3M3 11V9M3 6V3",
  fit: "M3 7V3h4M13 3h4v4M17 13v4h-4M7 17H3v-4M8 10h4M10 8v4",
  split: "M3 4h14v12H3zM10 4v12",
  link: "M8 12l4-4M9 6l1.500-1.500a3.200 3.200 0 0 1 4.500 4.500L13.500 10.500M11 14l-1.500 1.500A3.200 3.200 0 0 1 5 11L6.500 9.500",
  theme: "M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14z",
  help: "M7.500 7.500a2.500 2.500 0 1 1 3.600 2.300c-.8.4-1.100.9-1.100 1.700M10 14.500v.2M10 2a8 8 0 1 0 0 16 8 8 0 0 0 0-16z",
  play: "M6 4l10 6-10 6z",
  pause: "M6 4v12M14 4v12",
  panel: "M3 4h14v12H3zM13 4v12",
  save: "M10 3v10M6 9l4 4 4-4M3 16h14",
} as const;
