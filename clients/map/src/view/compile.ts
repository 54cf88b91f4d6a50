// A storey made ready to draw and to pick from.

import { Grid } from './grid.js'
import { length, matrixOf, measure, outlineOf, type Size, straightBox, union } from './outline.js'
import type { Leaf, ParsedHitArea, ParsedShape, ParsedUnit, Storey } from './parsed.js'
import type { Box, Point } from './types.js'

export interface Stroke {
  color: string
  alpha: number
  width: number
  cap: CanvasLineCap
  join: CanvasLineJoin
  miter: number
  dashes: number[]
}

/** A shape to draw. */
export interface Drawn {
  path: Path2D
  matrix?: DOMMatrix
  /** Without a box, it may be anywhere. */
  box?: Box
  unit?: string
  fill?: string
  alpha: number
  rule: CanvasFillRule
  stroke?: Stroke
}

/** What picks a unit: its hit area, else its shape. */
export interface Target {
  unit: string
  path: Path2D
  /** For SVG. */
  data: string
  matrix?: DOMMatrix
  box: Box
}

export interface CompiledLevel {
  drawn: Drawn[]
  /** In the order of the drawing. */
  targets: ReadonlyMap<string, Target[]>
  boxes: ReadonlyMap<string, Box>
  pick(point: Point): string | undefined
}

const NO_PAINT = new Set(['none', 'transparent'])

/** Compile a storey. */
export function compileLevel(storey: Storey, page: Size): CompiledLevel {
  const drawn: Drawn[] = []
  const shapes: Target[] = []
  const areas: Target[] = []
  const curved: Target[] = []
  const targetOf = (unit: string, shape: ParsedShape): Target => {
    const data = outlineOf(shape, page)
    const matrix = matrixOf(shape.transform)
    const path = new Path2D()
    path.addPath(new Path2D(data), matrix)
    const box = straightBox(shape, page, matrix)
    const target = { unit, path, data, matrix, box: box ?? { x: 0, y: 0, width: 0, height: 0 } }
    if (!box) curved.push(target)
    return target
  }
  for (const leaf of storey.leaves) {
    if (isUnit(leaf)) {
      const target = targetOf(leaf.id, leaf.shape)
      shapes.push(target)
      drawn.push({ ...paintOf(leaf.shape, page), path: target.path, unit: leaf.id })
    } else if (isHitArea(leaf)) {
      if (leaf.target.type === 'Unit') areas.push(targetOf(leaf.target.id, leaf.shape))
    } else drawn.push(backgroundOf(leaf, page))
  }
  measure(curved).forEach((box, i) => (curved[i]!.box = box))
  for (const [i, shape] of drawn.filter(({ unit }) => unit !== undefined).entries()) shape.box = shapes[i]!.box

  const withArea = new Set(areas.map(({ unit }) => unit))
  const pickable = [...shapes.filter(({ unit }) => !withArea.has(unit)), ...areas]
  const grid = new Grid(pickable, { x: 0, y: 0, ...page })
  return {
    drawn,
    targets: byUnit(pickable),
    boxes: boxesOf(shapes, areas),
    pick: (point) => pick(grid.at(point), point),
  }
}

function isUnit(leaf: Leaf): leaf is ParsedUnit {
  return leaf.type === 'Unit'
}

function isHitArea(leaf: Leaf): leaf is ParsedHitArea {
  return leaf.type === 'HitArea'
}

function byUnit(targets: Target[]): Map<string, Target[]> {
  const units = new Map<string, Target[]>()
  for (const target of targets) {
    const others = units.get(target.unit)
    if (others) others.push(target)
    else units.set(target.unit, [target])
  }
  return units
}

function boxesOf(shapes: Target[], areas: Target[]): Map<string, Box> {
  const boxes = new Map<string, Box>()
  const drawn = new Set(shapes.map(({ unit }) => unit))
  for (const { unit, box } of [...shapes, ...areas.filter(({ unit }) => !drawn.has(unit))]) {
    boxes.set(unit, union(boxes.get(unit), box))
  }
  return boxes
}

const asks = document.createElement('canvas').getContext('2d')!

/** Whether a point is in a path, by the rule that all outlines of units have. */
export function isInside(path: Path2D, { x, y }: Point): boolean {
  return asks.isPointInPath(path, x, y)
}

function pick(targets: readonly Target[], point: Point): string | undefined {
  return targets.findLast(({ path }) => isInside(path, point))?.unit
}

function backgroundOf(shape: ParsedShape, page: Size): Drawn {
  const matrix = matrixOf(shape.transform)
  const paint = paintOf(shape, page)
  const box = paint.stroke ? undefined : straightBox(shape, page, matrix)
  return { ...paint, path: new Path2D(outlineOf(shape, page)), matrix, box }
}

function paintOf(shape: ParsedShape, page: Size): Omit<Drawn, 'path'> {
  const opacity = shareOf(shape.opacity)
  const fill = String(shape.fill ?? 'black')
  const color = String(shape.stroke ?? 'none')
  const diagonal = Math.hypot(page.width, page.height) / Math.SQRT2
  const width = length(shape['stroke-width'], diagonal, 1)
  const dashes = String(shape['stroke-dasharray'] ?? '').split(/[\s,]+/).map((dash) => length(dash, diagonal, NaN))
  return {
    fill: NO_PAINT.has(fill) ? undefined : fill,
    alpha: opacity * shareOf(shape['fill-opacity']),
    rule: shape['fill-rule'] === 'evenodd' ? 'evenodd' : 'nonzero',
    stroke: NO_PAINT.has(color) || !(width > 0) ? undefined : {
      color,
      alpha: opacity * shareOf(shape['stroke-opacity']),
      width,
      cap: (shape['stroke-linecap'] ?? 'butt') as CanvasLineCap,
      join: (shape['stroke-linejoin'] ?? 'miter') as CanvasLineJoin,
      miter: Number(shape['stroke-miterlimit'] ?? 4),
      dashes: dashes.every(Number.isFinite) ? dashes : [],
    },
  }
}

function shareOf(text: string | number | undefined): number {
  return Math.max(0, Math.min(1, length(text, 1, 1)))
}
