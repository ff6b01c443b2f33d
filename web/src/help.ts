// The panel that says what can be done.

import { el } from "./dom";

const KEYS: [string, string][] = [
  ["drag, arrow keys", "move the map (3-D: turn it; with ctrl or the middle button: move it)"],
  ["wheel, + and −", "zoom"],
  ["0 or F", "back to the first view; press again to show all points, including distant ones"],
  ["V · L · B", "tool: move, lasso, box"],
  ["shift + drag", "with the move tool: lasso; with lasso or box: add to the selection (alt: remove from it)"],
  ["click", "keep the card of a point open; click again to close it"],
  ["/", "search; Enter goes to the next result"],
  ["N · shift + N", "next or previous row of the search results or the selection"],
  ["1 … 9", "show that map; the points move to their new places"],
  ["S", "all maps side by side, or one"],
  ["K", "link the views of the maps"],
  ["space", "play or pause the animation"],
  ["M", "neighbour lines and marks on or off"],
  ["J", "seams on or off: bands between places that are neighbours in the data but that the map has torn apart"],
  ["A", "names on the map on or off; more appear as you zoom in"],
  ["I", "invert the selection"],
  ["T", "light or dark"],
  ["Esc", "close the card, clear search and selection"],
  ["touch", "one finger moves the map (3-D: turns it), two fingers zoom and move it; a tap on a point opens its card, a tap elsewhere closes it"],
];

export function helpDialog(): HTMLDialogElement {
  const rows = KEYS.map(([keys, what]) => el("tr", {}, el("th", { scope: "row" }, keys), el("td", {}, what)));
  const close = el("button", { type: "button", class: "wk-small", on: { click: () => dialog.close() } }, "Close");
  const marks = el(
    "p",
    {},
    "At the point under the pointer: ",
    el("span", { class: "wk-mark wk-mark-kept" }, "rings"),
    " are true neighbours that stayed near, ",
    el("span", { class: "wk-mark wk-mark-missing" }, "dashed lines"),
    " lead to true neighbours that the map put elsewhere, and ",
    el("span", { class: "wk-mark wk-mark-wrong" }, "crosses"),
    " are points that are near in the map but not in the data.",
  );
  const dialog = el("dialog", { class: "wk-help", "aria-label": "Help" }, el("h2", {}, "How to explore the map"), el("table", {}, el("tbody", {}, ...rows)), marks, close);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  return dialog;
}
