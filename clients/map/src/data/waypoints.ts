// Waypoints in the forms that the API takes; `writeWaypoint` has the one of parameters.

import type { Waypoint } from '../state.js'
import type { Schemas } from './api.js'

/** A place with a position, such as an end of a route. */
export interface Place {
  x: number
  y: number
  floorId: string
  name?: string
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
