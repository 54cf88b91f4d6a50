// What lies over the picture as SVG: the units that are hovered and selected, areas and lines.

import type { Target } from './compile.js'
import type { Transform } from './pictures.js'
import type { Overlay, Point } from './types.js'

const SVG = 'http://www.w3.org/2000/svg'

export class Shapes {
  readonly #svg: SVGSVGElement
  readonly #moved: SVGGElement
  readonly #areas: SVGGElement
  readonly #units: SVGGElement
  readonly #lines: SVGGElement

  constructor(parent: HTMLElement) {
    this.#svg = parent.appendChild(document.createElementNS(SVG, 'svg'))
    this.#svg.setAttribute('aria-hidden', 'true')
    this.#moved = this.#svg.appendChild(document.createElementNS(SVG, 'g'))
    ;[this.#areas, this.#units, this.#lines] = ['areas', 'units', 'lines'].map((name) => {
      const group = this.#moved.appendChild(document.createElementNS(SVG, 'g'))
      group.setAttribute('class', name)
      return group
    }) as [SVGGElement, SVGGElement, SVGGElement]
  }

  setOverlay({ areas, lines }: Pick<Overlay, 'areas' | 'lines'>): void {
    const outlines = areas.map(({ rings }) => rings.map((ring) => `${dataOf(ring)}Z`).join(''))
    this.#areas.replaceChildren(...outlines.map((data) => pathOf(data, 'area')))
    this.#lines.replaceChildren(
      ...lines.filter(({ kind }) => kind === 'route').map(({ points }) => pathOf(dataOf(points), 'casing')),
      ...lines.map(({ points, kind }) => pathOf(dataOf(points), kind)),
    )
  }

  setUnits(hovered: readonly Target[], selected: readonly Target[]): void {
    const of = (targets: readonly Target[], name: string) =>
      targets.map(({ data, matrix }) => pathOf(data, name, matrix))
    this.#units.replaceChildren(...of(selected, 'selected'), ...of(hovered, 'hovered'))
  }

  move({ k, x, y }: Transform): void {
    this.#moved.setAttribute('transform', `translate(${x} ${y}) scale(${k})`)
  }
}

function dataOf(points: readonly Point[]): string {
  return points.map(({ x, y }, i) => `${i ? 'L' : 'M'}${x} ${y}`).join('')
}

function pathOf(data: string, name: string, matrix?: DOMMatrix): SVGPathElement {
  const path = document.createElementNS(SVG, 'path')
  path.setAttribute('d', data)
  path.setAttribute('class', name)
  if (matrix) path.setAttribute('transform', matrix.toString())
  return path
}
