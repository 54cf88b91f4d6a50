// The storeys of a building: the levels of its drawing, in the order of its floors.

import type { Level } from '../view/index.js'
import { type Floor, floorOf } from './building.js'

export interface Storey {
  /** Index of the level in the drawing. */
  level: number
  /** Id of the floor; of a level that shows none, its own id. */
  id: string
  name: string
  shortName: string
}

/** Return the storeys, the lowest first; levels that show no floor come last, as they are drawn. */
export function storeysOf(levels: readonly Level[], floors: readonly Floor[]): Storey[] {
  const placed = levels.map((level) => ({ level, floor: floorOf(level.tags, floors) }))
  placed.sort((a, b) => (a.floor?.sort ?? Infinity) - (b.floor?.sort ?? Infinity) || a.level.index - b.level.index)
  return placed.map(({ level, floor }) => {
    const own = level.id ?? String(level.index + 1)
    return {
      level: level.index,
      id: floor?.id ?? own,
      name: floor?.label || floor?.name || own,
      shortName: floor?.short_label || floor?.name || own,
    }
  })
}
