// Draws a level on a canvas, in steps: a generator that yields between pieces of the work.

import type { Colors } from './colors.js'
import { isInside, type CompiledLevel, type Drawn } from './compile.js'
import type { Box, NamedPlace } from './types.js'

/** What is drawn, and in which colours. */
export interface Content {
  level: CompiledLevel
  colors: Colors
  fills: ReadonlyMap<string, string>
  labels: ReadonlyMap<string, string>
  /** Names of places that are no unit, drawn where no other name is. */
  places: readonly NamedPlace[]
  /** All other units are drawn paler. */
  lit?: ReadonlySet<string>
}

/** A canvas that shows `region` of the drawing with `scale` CSS pixels a unit of the drawing. */
export interface Sheet {
  canvas: HTMLCanvasElement
  region: Box
  scale: number
  /** Pixels of the canvas a CSS pixel. */
  density: number
}

const SHAPES_A_STEP = 100
const LABELS_A_STEP = 50
const PALE = 0.72 // how much of the paper lies over a unit that is not lit
const FONT_SIZE = 12
const FONT = `500 ${FONT_SIZE}px system-ui, sans-serif`
const LINE_HEIGHT = 14
const LABEL_MARGIN = 3
const LONGEST_LINE = 70 // pixels; longer names of places are in two lines

/** Draw the content; without labels, nothing is read but the shapes. */
export function* paint(sheet: Sheet, content: Content, withLabels: boolean): Generator<void> {
  const { canvas, region, scale, density } = sheet
  const { level, colors } = content
  const context = canvas.getContext('2d', { alpha: false })!
  context.setTransform(1, 0, 0, 1, 0, 0)
  context.globalAlpha = 1
  context.fillStyle = colors.paper
  context.fillRect(0, 0, canvas.width, canvas.height)
  const pixels = scale * density
  context.setTransform(pixels, 0, 0, pixels, -region.x * pixels, -region.y * pixels)
  let step = 0
  for (const shape of level.drawn) {
    if (shape.box && !touches(shape.box, region)) continue
    paintShape(context, shape, content)
    if (++step % SHAPES_A_STEP === 0) yield
  }
  if (withLabels) yield* paintLabels(context, sheet, content)
}

function touches(one: Box, other: Box): boolean {
  return (
    one.x <= other.x + other.width &&
    other.x <= one.x + one.width &&
    one.y <= other.y + other.height &&
    other.y <= one.y + one.height
  )
}

function paintShape(context: CanvasRenderingContext2D, shape: Drawn, content: Content): void {
  const { path, matrix, unit, alpha, rule, stroke } = shape
  const { own, paper, unitFill } = content.colors
  const before = matrix && context.getTransform()
  if (matrix) context.transform(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)
  const set = unit === undefined ? undefined : (content.fills.get(unit) ?? unitFill)
  const fill = set ?? (shape.fill && own(shape.fill))
  if (fill) {
    context.globalAlpha = alpha
    context.fillStyle = fill
    context.fill(path, rule)
  }
  if (stroke) {
    context.globalAlpha = stroke.alpha
    context.strokeStyle = own(stroke.color)
    context.lineWidth = stroke.width
    context.lineCap = stroke.cap
    context.lineJoin = stroke.join
    context.miterLimit = stroke.miter
    context.setLineDash(stroke.dashes)
    context.stroke(path)
  }
  if (unit !== undefined && content.lit && !content.lit.has(unit)) {
    context.globalAlpha = PALE
    context.fillStyle = paper
    context.fill(path)
  }
  if (before) context.setTransform(before)
}

function* paintLabels(context: CanvasRenderingContext2D, sheet: Sheet, content: Content): Generator<void> {
  const { region, scale, density } = sheet
  const { labels, level, lit, colors, places } = content
  const taken: Box[] = []
  context.setTransform(density, 0, 0, density, 0, 0)
  context.setLineDash([])
  context.lineJoin = 'round'
  context.lineWidth = 3
  context.strokeStyle = colors.halo
  context.fillStyle = colors.label
  context.font = FONT
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  let step = 0
  for (const [unit, text] of labels) {
    const box = level.boxes.get(unit)
    if (!box || !touches(box, region) || box.height * scale < LINE_HEIGHT) continue
    const placed = place(context, text, unit, box, scale, level)
    if (++step % LABELS_A_STEP === 0) yield
    if (!placed) continue
    context.globalAlpha = lit && !lit.has(unit) ? 1 - PALE : 1
    taken.push(write(context, placed, sheet))
  }
  context.globalAlpha = 1
  for (const { x, y, text } of places) {
    const placed = { lines: widthOf(context, text) > LONGEST_LINE ? halves(text) : [text], x, y }
    const box = boxOfLines(context, placed, sheet)
    if (!touches({ x, y, width: 0, height: 0 }, region) || taken.some((other) => touches(box, other))) continue
    taken.push(write(context, placed, sheet))
    if (++step % LABELS_A_STEP === 0) yield
  }
}

/** Write lines around their place, and return the box that they take, in pixels. */
function write(context: CanvasRenderingContext2D, placed: Placed, sheet: Sheet): Box {
  const box = boxOfLines(context, placed, sheet)
  for (const [i, line] of placed.lines.entries()) {
    const [x, y] = [box.x + box.width / 2, box.y + (i + 0.5) * LINE_HEIGHT]
    context.strokeText(line, x, y)
    context.fillText(line, x, y)
  }
  return box
}

function boxOfLines(context: CanvasRenderingContext2D, { lines, x, y }: Placed, { region, scale }: Sheet): Box {
  const width = Math.max(...lines.map((line) => widthOf(context, line)))
  const height = lines.length * LINE_HEIGHT
  return { x: (x - region.x) * scale - width / 2, y: (y - region.y) * scale - height / 2, width, height }
}

const widths = new Map<string, number>()

function widthOf(context: CanvasRenderingContext2D, text: string): number {
  let width = widths.get(text)
  if (width === undefined) widths.set(text, (width = context.measureText(text).width))
  return width
}

interface Placed {
  lines: string[]
  x: number
  y: number
}

// Where a label fits in its unit: in one line, else in two; in the middle, else in a quarter of the
// box, for units in the form of an L or a U.
function place(
  context: CanvasRenderingContext2D, text: string, unit: string, box: Box, scale: number, level: CompiledLevel,
): Placed | undefined {
  const targets = level.targets.get(unit) ?? []
  for (const lines of [[text], halves(text)]) {
    const width = (Math.max(...lines.map((line) => widthOf(context, line))) + 2 * LABEL_MARGIN) / scale
    const height = (lines.length * LINE_HEIGHT) / scale
    if (width > box.width || height > box.height) continue
    for (const [across, down] of [[2, 2], [2, 1], [2, 3], [1, 2], [3, 2], [1, 1], [3, 1], [1, 3], [3, 3]] as const) {
      const x = box.x + (box.width * across) / 4
      const y = box.y + (box.height * down) / 4
      const corners = [-1, 1].flatMap((dx) => [-1, 1].map((dy) => ({ x: x + (dx * width) / 2, y: y + (dy * height) / 2 })))
      if (targets.some(({ path }) => corners.every((corner) => isInside(path, corner)))) return { lines, x, y }
    }
  }
  return undefined
}

/** A text in two lines of about the same length, if it has a blank. */
function halves(text: string): string[] {
  const blanks = [...text.matchAll(/ /g)].map(({ index }) => index)
  if (!blanks.length) return [text]
  const middle = blanks.reduce((best, at) => (Math.abs(at - text.length / 2) < Math.abs(best - text.length / 2) ? at : best))
  return [text.slice(0, middle), text.slice(middle + 1)]
}
