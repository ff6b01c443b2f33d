// Points by WebGL2. One canvas holds all panels; arrays are uploaded when they are first drawn or have changed.

export const HIDDEN = 0;
export const FAINT = 1;
export const PLAIN = 2;
export const STRONG = 3;

const VERTEX = `#version 300 es
in vec3 a_from;
in vec3 a_to;
in vec4 a_color; // red, green, blue, state
uniform mat4 u_matrix;
uniform vec3 u_fromShift, u_toShift, u_background;
uniform float u_fromScale, u_toScale, u_mix, u_size, u_opacity, u_distance;
uniform int u_faint;
out vec4 v_color;
flat out float v_size;
void main() {
  int state = int(a_color.a * 255.0 + 0.5);
  if (state == 0 || (u_faint == 1) != (state == 1)) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    gl_PointSize = 1.0;
    return;
  }
  vec3 place = mix(a_from * u_fromScale + u_fromShift, a_to * u_toScale + u_toShift, u_mix);
  gl_Position = u_matrix * vec4(place, 1.0);
  vec3 color = a_color.rgb;
  float alpha = u_opacity;
  float size = u_size;
  if (u_distance > 0.0) { // 3-D: nearer points are larger, farther ones paler
    float nearness = u_distance / max(gl_Position.w, 0.001);
    size *= clamp(nearness, 0.4, 4.0);
    color = mix(u_background, color, clamp(0.5 + 0.5 * (nearness - 0.55) / 0.5, 0.35, 1.0));
    alpha = 1.0;
  }
  if (state == 1) {
    color = mix(u_background, color, 0.25);
    alpha *= 0.5;
    size *= 0.8;
  } else if (state == 3) {
    size = size * 1.5 + 2.0;
    alpha = 1.0;
  }
  gl_PointSize = max(size, 1.0);
  v_size = gl_PointSize;
  v_color = vec4(color, alpha);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 v_color;
flat in float v_size;
uniform int u_solid;
out vec4 color;
void main() {
  float alpha = v_color.a;
  if (v_size > 2.5) {
    float edge = (0.5 - length(gl_PointCoord - 0.5)) * v_size;
    alpha *= clamp(edge, 0.0, 1.0);
    if (u_solid == 1 && edge < 0.5) discard;
    if (u_solid == 1) alpha = v_color.a;
  }
  color = vec4(v_color.rgb * alpha, alpha);
}`;

/** Where the points of a panel are: coordinates of 16 bits, times scale, plus shift. */
export interface Placement {
  points: Uint16Array;
  stride: 2 | 4;
  scale: number;
  shift: readonly [number, number, number];
}

export interface PanelDrawing {
  x: number;
  y: number;
  width: number;
  height: number;
  from: Placement;
  to: Placement;
  mix: number;
  colors: Uint8Array;
  anyFaint: boolean;
  matrix: Float32Array;
  distance: number; // of the camera, 0 for a flat map
  size: number;
  opacity: number;
}

type Background = readonly [number, number, number];

interface Behind {
  frame: WebGLFramebuffer;
  buffers: WebGLRenderbuffer[];
  width: number;
  height: number;
}

/** Faint points first, where there are any, then the others. */
function passes(panel: PanelDrawing): number[] {
  return panel.anyFaint ? [1, 0] : [0];
}

export class Renderer {
  private behind: Behind | null = null;
  private gl: WebGL2RenderingContext;
  private program!: WebGLProgram;
  private buffers = new Map<ArrayBufferView, WebGLBuffer>();
  private stale = new Set<ArrayBufferView>();
  private uniforms = new Map<string, WebGLUniformLocation | null>();

  constructor(
    readonly canvas: HTMLCanvasElement,
    onRestored: () => void,
  ) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true });
    if (!gl) throw new Error("This browser does not offer WebGL2, which is needed to draw the map.");
    this.gl = gl;
    this.prepare();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.buffers.clear();
      this.behind = null;
      this.prepare();
      onRestored();
    });
  }

  dispose(): void {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  /** Upload this array anew before it is drawn again. */
  changed(array: ArrayBufferView): void {
    this.stale.add(array);
  }

  /** Forget arrays that will not be drawn again. */
  keepOnly(used: Set<ArrayBufferView>): void {
    for (const [array, buffer] of this.buffers) {
      if (used.has(array)) continue;
      this.gl.deleteBuffer(buffer);
      this.buffers.delete(array);
    }
  }

  resize(width: number, height: number, ratio: number): void {
    const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    if (this.canvas.width !== w || this.canvas.height !== h) Object.assign(this.canvas, { width: w, height: h });
  }

  /** Draw all points, or every `shares`-th row, onto the canvas. */
  draw(panels: PanelDrawing[], n: number, ratio: number, background: Background, shares = 1): void {
    const gl = this.gl;
    if (gl.isContextLost()) return;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    this.begin(background, true);
    for (const panel of panels) for (const faint of passes(panel)) this.drawPanel(panel, n, ratio, faint, 0, shares);
  }

  /** Draw one of `shares` behind the scene; the first one begins a new picture, which `present` shows. */
  collect(panels: PanelDrawing[], n: number, ratio: number, background: Background, share: number, shares: number): void {
    const gl = this.gl;
    if (gl.isContextLost()) return;
    if (share === 0) this.fitBehind();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.behind!.frame);
    this.begin(background, share === 0);
    for (const panel of panels) {
      // Faint points lie below all others: with any, each share of the work is one of the faint or one of the others.
      const both = passes(panel).length > 1;
      if (!both) this.drawPanel(panel, n, ratio, 0, share, shares);
      else for (const at of [2 * share, 2 * share + 1]) this.drawPanel(panel, n, ratio, at < shares ? 1 : 0, at % shares, shares);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  /** Show what was collected. */
  present(): void {
    const gl = this.gl;
    if (gl.isContextLost() || !this.behind) return;
    const { width, height } = this.canvas;
    gl.disable(gl.SCISSOR_TEST);
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.behind.frame);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  /** A picture behind the scene that is as large as the canvas. */
  private fitBehind(): void {
    const gl = this.gl;
    const { width, height } = this.canvas;
    if (this.behind?.width === width && this.behind.height === height) return;
    if (this.behind) {
      for (const buffer of this.behind.buffers) gl.deleteRenderbuffer(buffer);
      gl.deleteFramebuffer(this.behind.frame);
    }
    const frame = gl.createFramebuffer()!;
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    const buffers = ([[gl.RGBA8, gl.COLOR_ATTACHMENT0], [gl.DEPTH_COMPONENT16, gl.DEPTH_ATTACHMENT]] as const).map(([format, where]) => {
      const buffer = gl.createRenderbuffer()!;
      gl.bindRenderbuffer(gl.RENDERBUFFER, buffer);
      gl.renderbufferStorage(gl.RENDERBUFFER, format, width, height);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, where, gl.RENDERBUFFER, buffer);
      return buffer;
    });
    this.behind = { frame, buffers, width, height };
  }

  private begin(background: Background, clear: boolean): void {
    const gl = this.gl;
    if (clear) {
      gl.disable(gl.SCISSOR_TEST);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    }
    gl.enable(gl.SCISSOR_TEST);
    gl.useProgram(this.program);
    gl.uniform3f(this.uniform("u_background"), background[0] / 255, background[1] / 255, background[2] / 255);
  }

  /** Every `shares`-th row of a panel, from row `share` on: the faint ones, or the others. */
  private drawPanel(panel: PanelDrawing, n: number, ratio: number, faint: number, share: number, shares: number): void {
    const count = Math.ceil((n - share) / shares);
    if (count <= 0) return;
    const gl = this.gl;
    const px = (v: number) => Math.round(v * ratio);
    const bottom = this.canvas.height - px(panel.y + panel.height);
    gl.viewport(px(panel.x), bottom, px(panel.width), px(panel.height));
    gl.scissor(px(panel.x), bottom, px(panel.width), px(panel.height));
    const solid = panel.distance > 0;
    if (solid) gl.enable(gl.DEPTH_TEST);
    else gl.disable(gl.DEPTH_TEST);
    this.place("a_from", panel.from, share, shares);
    this.place("a_to", panel.to, share, shares);
    this.attribute("a_color", panel.colors, 4, gl.UNSIGNED_BYTE, 4, share, shares);
    gl.uniformMatrix4fv(this.uniform("u_matrix"), false, panel.matrix);
    gl.uniform3fv(this.uniform("u_fromShift"), panel.from.shift);
    gl.uniform3fv(this.uniform("u_toShift"), panel.to.shift);
    gl.uniform1f(this.uniform("u_fromScale"), panel.from.scale);
    gl.uniform1f(this.uniform("u_toScale"), panel.to.scale);
    gl.uniform1f(this.uniform("u_mix"), panel.mix);
    gl.uniform1f(this.uniform("u_size"), panel.size * ratio);
    gl.uniform1f(this.uniform("u_opacity"), panel.opacity);
    gl.uniform1f(this.uniform("u_distance"), panel.distance);
    gl.uniform1i(this.uniform("u_solid"), solid ? 1 : 0);
    gl.uniform1i(this.uniform("u_faint"), faint);
    gl.drawArrays(gl.POINTS, 0, count);
  }

  private place(name: string, placement: Placement, share: number, shares: number): void {
    const { stride, points } = placement;
    this.attribute(name, points, stride === 2 ? 2 : 3, this.gl.UNSIGNED_SHORT, stride * 2, share, shares);
  }

  private attribute(name: string, array: ArrayBufferView, size: number, type: number, stride: number, share: number, shares: number): void {
    const gl = this.gl;
    let buffer = this.buffers.get(array);
    const isNew = !buffer;
    if (!buffer) {
      buffer = gl.createBuffer()!;
      this.buffers.set(array, buffer);
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    if (isNew || this.stale.delete(array)) gl.bufferData(gl.ARRAY_BUFFER, array, gl.DYNAMIC_DRAW);
    const at = gl.getAttribLocation(this.program, name);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, type, true, stride * shares, stride * share);
  }

  private uniform(name: string): WebGLUniformLocation | null {
    if (!this.uniforms.has(name)) this.uniforms.set(name, this.gl.getUniformLocation(this.program, name));
    return this.uniforms.get(name)!;
  }

  private prepare(): void {
    const gl = this.gl;
    const program = gl.createProgram()!;
    for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
      const shader = gl.createShader(type)!;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      throw new Error(`The map's shaders do not work here: ${gl.getProgramInfoLog(program)}`);
    }
    this.program = program;
    this.uniforms.clear();
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthFunc(gl.LEQUAL);
  }
}
