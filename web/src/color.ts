// Colours of points: a colour-blind-safe palette for classes, a scale of even steps for numbers.

export type Rgb = readonly [number, number, number];

export const VIRIDIS: Rgb[] = [
  [68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37],
];

export function parseColor(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export function css(color: Rgb): string {
  return `rgb(${color.map(Math.round).join(" ")})`;
}

function mix(a: Rgb, b: Rgb, t: number): Rgb {
  return [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t];
}

/** Colour of class `code`: the palette, then lighter and darker ones of it, then colours around the circle. */
export function categoryColor(code: number, palette: string[], dark: boolean): Rgb {
  const round = Math.floor(code / palette.length);
  let color = parseColor(palette[code % palette.length]);
  const light = 0.3 * color[0] + 0.59 * color[1] + 0.11 * color[2];
  if (dark && light < 20) color = [236, 236, 236]; // black would not be seen
  else if (dark && light < 110) color = mix(color, [255, 255, 255], 0.28);
  if (round === 0) return color;
  if (round === 1) return mix(color, [255, 255, 255], 0.5);
  if (round === 2) return mix(color, [0, 0, 0], 0.4);
  return hsl((code * 137.508) % 360, 0.55, 0.35 + 0.1 * (code % 4));
}

function hsl(h: number, s: number, l: number): Rgb {
  const a = s * Math.min(l, 1 - l);
  const part = (n: number) => {
    const k = (n + h / 30) % 12;
    return 255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return [part(0), part(8), part(4)];
}

/** Colour of a share from 0 to 1 of the scale. */
export function scaleColor(t: number): Rgb {
  const at = Math.max(0, Math.min(1, t)) * (VIRIDIS.length - 1);
  const i = Math.min(VIRIDIS.length - 2, Math.floor(at));
  return mix(VIRIDIS[i], VIRIDIS[i + 1], at - i);
}

/** 256 colours of the scale, three bytes each. */
export const SCALE = (() => {
  const table = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; i++) table.set(scaleColor(i / 255).map(Math.round), 3 * i);
  return table;
})();
