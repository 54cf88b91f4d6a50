// Waypoints in the forms that the API takes.

import type { Waypoint } from '../state.js'
import type { Schemas } from './api.js'

/** A place with a position, such as an end of a route. */
export interface Place {
  x: number
  y: number
  floorId: string
  name?: string
}

/** As parameters take it: `unit:ID`, the id of a location, or `x,y,floor`. */
export function toText({ unit, location, x, y, floor }: Waypoint): string {
  if (unit !== undefined) return `unit:${unit}`
  return location ?? `${fixed(x)},${fixed(y)},${floor ?? ''}`
}

/** As bodies of REST take it. */
export function toBody({ unit, location, x, y, floor }: Waypoint): Schemas['Waypoint'] {
  if (unit !== undefined) return { unit_id: unit }
  return location !== undefined ? { id: location } : { x: x ?? 0, y: y ?? 0, floor_id: floor ?? '' }
}

/** As variables of GraphQL take it. */
export function toInput({ unit, location, x, y, floor }: Waypoint): object {
  if (unit !== undefined) return { unitId: unit }
  return location !== undefined ? { id: location } : { x, y, floorId: floor }
}

/** Positions in parameters have no exponents, such as `1e-7`. */
function fixed(value = 0): string {
  return String(Number(value.toFixed(3)))
}
