// What the panels of routes are made from.

import { html, nothing, type TemplateResult } from 'lit'
import { ResponseError } from '../data/api.js'
import { formatLength, formatTime, type Measure } from '../data/measures.js'
import type { Place } from '../data/waypoints.js'
import type { Found, NameIndex } from '../data/search.js'
import type { ExplorerState, Waypoint } from '../state.js'
import { fill, type Texts } from '../texts.js'
import { failure } from './failure.js'
import type { Asked, RouteFinder } from './route_finder.js'

export type End = 'from' | 'to'

export interface RoutesView {
  finder: RouteFinder
  state: ExplorerState
  texts: Texts
  measure: Measure
  /** Where a route starts; undefined while that is to be chosen. */
  start: Waypoint | undefined
  /** Whether the map does not have the place where the person is said to be. */
  isLost: boolean
  floorNames: ReadonlyMap<string, string>
  /** Finds units and amenities; undefined while they are loaded. */
  index: NameIndex | undefined
  /** Name of a unit or an amenity; undefined for a position, and while they are loaded. */
  nameOf(waypoint: Waypoint): string | undefined
  /** The end that the next click on the map sets. */
  choosing: End | undefined
  change(changes: Partial<ExplorerState>): void
  /** Let the next click on the map set an end; undefined stops it. */
  choose(end: End | undefined): void
  close(): void
  /** Show a place on the map. */
  show(place: Place): void
}

export function floorName({ floorNames }: Pick<RoutesView, 'floorNames'>, id: string): string {
  return floorNames.get(id) ?? id
}

/** A waypoint in words: its name, or on which floor it is. */
export function nameWaypoint(view: RoutesView, waypoint: Waypoint): string {
  const name = view.nameOf(waypoint)
  if (name !== undefined) return name
  return waypoint.floor === undefined ? view.texts.unnamed : fill(view.texts.pointOn, { floor: floorName(view, waypoint.floor) })
}

/** What was found as a waypoint. */
export function waypointOf({ kind, id }: Found): Waypoint {
  return kind === 'unit' ? { unit: id } : { location: id }
}

/** A length in the measure that is shown. */
export function length({ measure, texts }: RoutesView, feet: number): string {
  return formatLength(feet, measure, texts.language)
}

export function time({ texts }: RoutesView, seconds: number): string {
  return formatTime(seconds, texts.language)
}

/** Why a part of the panel has no answer. That the start is unknown is no reason to try again. */
export function failureOf({ texts, state }: RoutesView, asked: Asked<unknown>): TemplateResult | typeof nothing {
  const { error } = asked
  if (!(error instanceof ResponseError && error.fields.from)) return failure(texts, error, () => asked.retry())
  return state.to ? nothing : html`<p role="alert">${texts.unknownFrom}</p>` // with both ends, the route says so
}
