// Finds the boxes that hold a point: a uniform grid, each cell with the boxes that touch it.

import type { Box, Point } from './types.js'

const MAX_CELLS_ACROSS = 128

export class Grid<T extends { box: Box }> {
  readonly #cells: T[][] = []
  readonly #across: number
  readonly #page: Box

  /** `items` are found in this order. */
  constructor(items: readonly T[], page: Box) {
    this.#page = page
    this.#across = Math.max(1, Math.min(MAX_CELLS_ACROSS, Math.ceil(Math.sqrt(items.length))))
    for (const item of items) {
      const { x, y, width, height } = item.box
      const [left, top] = this.#cell({ x, y })
      const [right, bottom] = this.#cell({ x: x + width, y: y + height })
      for (let row = top; row <= bottom; row++) {
        for (let column = left; column <= right; column++) {
          ;(this.#cells[row * this.#across + column] ??= []).push(item)
        }
      }
    }
  }

  at(point: Point): readonly T[] {
    const [column, row] = this.#cell(point)
    return (this.#cells[row * this.#across + column] ?? []).filter(({ box }) => holds(box, point))
  }

  // What lies beyond the page is in the cells at its edge.
  #cell({ x, y }: Point): [number, number] {
    const index = (offset: number, whole: number) =>
      Math.max(0, Math.min(this.#across - 1, Math.floor((offset / (whole || 1)) * this.#across)))
    return [index(x - this.#page.x, this.#page.width), index(y - this.#page.y, this.#page.height)]
  }
}

function holds({ x, y, width, height }: Box, point: Point): boolean {
  return point.x >= x && point.x <= x + width && point.y >= y && point.y <= y + height
}
