// Outlines of shapes as the data of SVG paths, which canvas and SVG both draw, and their boxes.

import type { ParsedShape } from './parsed.js'
import type { Box, Point } from './types.js'

export interface Size {
  width: number
  height: number
}

const SVG = 'http://www.w3.org/2000/svg'
const NUMBER = /[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?/g
const PIXELS: Record<string, number> = {
  '': 1, px: 1, pt: 4 / 3, pc: 16, in: 96, cm: 96 / 2.54, mm: 9.6 / 2.54, q: 2.4 / 2.54, em: 16, rem: 16, ex: 8, ch: 8,
}
const STRAIGHT = new Set(['Polygon', 'Polyline', 'Rect', 'Line'])

/** A length in units of the drawing; percentages are of `whole`. */
export function length(text: string | number | undefined, whole: number, otherwise = 0): number {
  if (text === undefined || typeof text === 'number') return text ?? otherwise
  const value = Number.parseFloat(text)
  const unit = /[a-z%]+\s*$/i.exec(text)?.[0].trim().toLowerCase() ?? ''
  if (!Number.isFinite(value)) return otherwise
  return unit === '%' ? (value * whole) / 100 : value * (PIXELS[unit] ?? 1)
}

/** The data of a path along a shape, without its transform. */
export function outlineOf(shape: ParsedShape, page: Size): string {
  const across = (name: string) => length(shape[name], page.width)
  const down = (name: string) => length(shape[name], page.height)
  switch (shape.type) {
    case 'Path':
      return String(shape.d ?? '')
    case 'Polygon':
      return shape.points ? `M${shape.points}Z` : ''
    case 'Polyline':
      return shape.points ? `M${shape.points}` : ''
    case 'Line':
      return `M${across('x1')} ${down('y1')}L${across('x2')} ${down('y2')}`
    case 'Rect':
      return rounded(shape, page)
    case 'Circle': {
      const r = length(shape.r, Math.hypot(page.width, page.height) / Math.SQRT2)
      return ellipse(across('cx'), down('cy'), r, r)
    }
    case 'Ellipse': {
      const { rx = shape.ry, ry = shape.rx } = shape
      return ellipse(across('cx'), down('cy'), length(rx, page.width), length(ry, page.height))
    }
  }
}

function ellipse(x: number, y: number, rx: number, ry: number): string {
  if (!(rx > 0 && ry > 0)) return ''
  return `M${x - rx} ${y}a${rx} ${ry} 0 1 1 ${2 * rx} 0a${rx} ${ry} 0 1 1 ${-2 * rx} 0Z`
}

function rounded(shape: ParsedShape, page: Size): string {
  const { x = 0, y = 0, width = 0, height = 0 } = shape as Partial<Box>
  if (!(width > 0 && height > 0)) return ''
  const { rx = shape.ry, ry = shape.rx } = shape
  const across = Math.min(length(rx, page.width), width / 2)
  const down = Math.min(length(ry, page.height), height / 2)
  if (!(across > 0 && down > 0)) return `M${x} ${y}h${width}v${height}h${-width}Z`
  const corner = (dx: number, dy: number) => `a${across} ${down} 0 0 1 ${dx} ${dy}`
  const [w, h] = [width - 2 * across, height - 2 * down]
  return (
    `M${x + across} ${y}h${w}${corner(across, down)}v${h}${corner(-across, down)}` +
    `h${-w}${corner(-across, -down)}v${-h}${corner(across, -down)}Z`
  )
}

const reader = document.createElementNS(SVG, 'g')

/** The matrix of a `transform` attribute, if it changes anything. */
export function matrixOf(transform: string | number | undefined): DOMMatrix | undefined {
  if (!transform) return undefined
  reader.setAttribute('transform', String(transform))
  const matrix = reader.transform.baseVal.consolidate()?.matrix
  if (!matrix) return undefined
  const { a, b, c, d, e, f } = matrix
  return new DOMMatrix([a, b, c, d, e, f])
}

/** The box around points, or undefined without any. */
export function boxAround(points: Iterable<Point>): Box | undefined {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const { x, y } of points) {
    left = Math.min(left, x)
    right = Math.max(right, x)
    top = Math.min(top, y)
    bottom = Math.max(bottom, y)
  }
  return left <= right && top <= bottom ? { x: left, y: top, width: right - left, height: bottom - top } : undefined
}

export function union(one: Box | undefined, other: Box): Box {
  if (!one) return other
  const [x, y] = [Math.min(one.x, other.x), Math.min(one.y, other.y)]
  return {
    x,
    y,
    width: Math.max(one.x + one.width, other.x + other.width) - x,
    height: Math.max(one.y + one.height, other.y + other.height) - y,
  }
}

/** The box of a shape of straight lines; undefined for others, which `measure` knows. */
export function straightBox(shape: ParsedShape, page: Size, matrix: DOMMatrix | undefined): Box | undefined {
  if (!STRAIGHT.has(shape.type)) return undefined
  return boxAround(cornersOf(shape, page).map((point) => (matrix ? transform(point, matrix) : point)))
}

function cornersOf(shape: ParsedShape, page: Size): Point[] {
  if (shape.type === 'Rect') {
    const { x: left = 0, y: top = 0, width = 0, height = 0 } = shape as Partial<Box>
    const [right, bottom] = [left + width, top + height]
    return [{ x: left, y: top }, { x: right, y: top }, { x: right, y: bottom }, { x: left, y: bottom }]
  }
  const text = shape.type === 'Line' ? outlineOf(shape, page) : String(shape.points ?? '')
  const numbers = (text.match(NUMBER) ?? []).map(Number)
  return Array.from({ length: numbers.length >> 1 }, (_, i) => ({ x: numbers[2 * i]!, y: numbers[2 * i + 1]! }))
}

function transform({ x, y }: Point, { a, b, c, d, e, f }: DOMMatrix): Point {
  return { x: a * x + c * y + e, y: b * x + d * y + f }
}

/** The boxes of outlines with their transforms, as the browser measures them in one layout. */
export function measure(outlines: { data: string; matrix?: DOMMatrix }[]): Box[] {
  if (!outlines.length) return []
  const groups = outlines.map(({ data, matrix }) => {
    const group = document.createElementNS(SVG, 'g')
    const path = group.appendChild(document.createElementNS(SVG, 'path'))
    path.setAttribute('d', data)
    if (matrix) path.setAttribute('transform', matrix.toString())
    return group
  })
  // in the body, because a host that is not displayed has no layout
  const svg = document.body.appendChild(document.createElementNS(SVG, 'svg'))
  Object.assign(svg.style, { position: 'fixed', width: '1px', height: '1px', visibility: 'hidden' })
  svg.append(...groups)
  const boxes = groups.map((group) => {
    const { x, y, width, height } = group.getBBox()
    return { x, y, width, height }
  })
  svg.remove()
  return boxes
}
