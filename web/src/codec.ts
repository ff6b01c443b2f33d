// Reads what src/winkel/view/html/container.py writes: text to bytes, bytes to named arrays.

const ALPHABET = "!#$%()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_abcdefghijklmnopqrstuvwxyz{|";
const DIGITS = new Uint8Array(128);
for (let i = 0; i < 85; i++) DIGITS[ALPHABET.charCodeAt(i)] = i;

export type Numbers = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array | Float64Array;

const TYPES = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
};

interface ArrayInfo {
  name: string;
  type: keyof typeof TYPES;
  shape: number[];
  filter: "plain" | "planes" | "delta" | "time";
  offset: number;
}

/** One part of the data: what it says about itself, and its arrays by name. */
export class Part<Meta> {
  private infos = new Map<string, ArrayInfo>();

  constructor(
    readonly meta: Meta,
    arrays: ArrayInfo[],
    private bytes: Uint8Array,
  ) {
    for (const info of arrays) this.infos.set(info.name, info);
  }

  shape(name: string): number[] {
    return this.info(name).shape;
  }

  array(name: string): Numbers {
    const { type, shape, filter, offset } = this.info(name);
    const size = shape.reduce((a, b) => a * b, 1);
    const Type = TYPES[type];
    const from = this.bytes.byteOffset + offset;
    if (filter === "plain") return new Type(this.bytes.buffer as ArrayBuffer, from, size);
    const array = new Type(size);
    joinPlanes(new Uint8Array(this.bytes.buffer, from, size * Type.BYTES_PER_ELEMENT), array);
    if (filter !== "planes") unfold(array as Uint16Array, shape, filter === "time");
    return array;
  }

  private info(name: string): ArrayInfo {
    const info = this.infos.get(name);
    if (!info) throw new Error(`the data has no array ${name}`);
    return info;
  }
}

function joinPlanes(planes: Uint8Array, array: Numbers): void {
  const width = array.BYTES_PER_ELEMENT;
  const bytes = new Uint8Array(array.buffer);
  const size = array.length;
  for (let plane = 0; plane < width; plane++) {
    const from = plane * size;
    for (let i = 0, to = plane; i < size; i++, to += width) bytes[to] = planes[from + i];
  }
}

/** Undo folded differences along the last axis, or (time) along the first one. */
function unfold(array: Uint16Array, shape: number[], time: boolean): void {
  const last = shape[shape.length - 1];
  const slice = time ? array.length / shape[0] : array.length;
  for (let i = 0; i < array.length; i++) {
    const folded = array[i];
    const difference = (folded >>> 1) ^ -(folded & 1);
    const before = i >= slice ? array[i - slice] : i % last ? array[i - 1] : 0;
    array[i] = before + difference;
  }
}

/** Text of ALPHABET, after its length and a space, as bytes. */
export function fromText(text: string): Uint8Array {
  const space = text.indexOf(" ");
  const length = Number(text.slice(0, space));
  const bytes = new Uint8Array(Math.ceil(length / 4) * 4);
  let at = space + 1;
  for (let i = 0; i < bytes.length; i += 4) {
    let word = 0;
    for (let k = 0; k < 5; k++) word = word * 85 + DIGITS[text.charCodeAt(at++)];
    bytes[i] = word >>> 24;
    bytes[i + 1] = word >>> 16;
    bytes[i + 2] = word >>> 8;
    bytes[i + 3] = word;
  }
  return bytes.subarray(0, length);
}

export async function readPart<Meta>(packed: Uint8Array): Promise<Part<Meta>> {
  const stream = new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  if (new TextDecoder().decode(bytes.subarray(0, 4)) !== "WKX1") throw new Error("the data is not a part of a winkel page");
  const length = new DataView(bytes.buffer).getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  return new Part<Meta>(header.meta, header.arrays, bytes.subarray(8 + length));
}

/** Where the parts of the data come from: elements of the page, the page's server, or a notebook. */
export interface Source {
  load(name: string): Promise<Uint8Array>;
}

export class PageSource implements Source {
  async load(name: string): Promise<Uint8Array> {
    const element = [...document.querySelectorAll<HTMLScriptElement>("script[data-part]")].find((e) => e.dataset.part === name);
    if (!element) throw new Error(`the page has no data ${name}`);
    const bytes = fromText(element.textContent ?? "");
    element.remove(); // the text is not needed any more
    return bytes;
  }
}

/** Parts fetched beside the page's own address, with its query (where a server keeps its token). */
export class ServerSource implements Source {
  constructor(private folder: string) {}

  async load(name: string): Promise<Uint8Array> {
    const url = new URL(`${this.folder}${name}${location.search}`, location.href);
    const response = await fetch(url, { credentials: "same-origin" });
    if (!response.ok) throw new Error(`the server has no data ${name} (${response.status})`);
    return new Uint8Array(await response.arrayBuffer());
  }
}
