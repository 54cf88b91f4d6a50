// Routes: the fastest one between two waypoints beside the straight line, or why there is none.

import { writeWaypoint } from '../links.js'
import type { Avoidable, Mode, Waypoint } from '../state.js'
import { type Api, ResponseError, type Schemas } from './api.js'
import { type Place, toBody } from './waypoints.js'
import { findReasons, type Reason } from './why.js'

export interface RouteRequest {
  map: string
  from: Waypoint
  to: Waypoint
  mode: Mode
  avoid: readonly Avoidable[]
}

export interface FoundRoute {
  kind: 'route'
  mode: Mode
  feet: number
  seconds: number
  legs: Schemas['RouteLeg'][]
  /** What to draw of each leg: clear of walls, as people walk. */
  lines: number[][][]
  steps: Schemas['RouteStep'][]
  start: Place
  end: Place
  /** Length of the straight line, if both ends are on one floor. */
  straightFeet?: number
}

export interface NoRoute {
  kind: 'none'
  reasons: Reason[]
  /** Both are known if the map has the places. */
  start?: Place
  end?: Place
}

export type RouteAnswer = FoundRoute | NoRoute

/** Find the fastest route, or the reasons why there is none. Throws FloorgateError for all else that is wrong. */
export async function findRoute(api: Api, request: RouteRequest, signal?: AbortSignal): Promise<RouteAnswer> {
  const { map, from, to, mode, avoid } = request
  const avoided = avoid.length ? avoid : undefined
  const query = { from: writeWaypoint(from), to: writeWaypoint(to), mode, steps: true, lines: true, avoid: avoided }
  const found = api.rest.withOptions({ signal }).maps(map).route(query)
  const ends = findEnds(api, request, signal)
  ends.catch(() => {}) // the route has the same error, with better names
  try {
    const route = await found
    if (route) return { kind: 'route', ...route, steps: route.steps ?? [], lines: route.lines ?? [], ...(await ends) }
    const { start, end } = await ends
    return { kind: 'none', start, end, reasons: await findReasons(api, request, signal) }
  } catch (error) {
    const reasons = await reasonsOf(api, request, error, signal)
    if (reasons) return { kind: 'none', reasons }
    throw error
  }
}

interface Ends {
  start: Place
  end: Place
  straightFeet?: number
}

/** Both ends and the straight line between them: a matrix has all of it, also without a route. */
async function findEnds(api: Api, { map, from, to }: RouteRequest, signal?: AbortSignal): Promise<Ends> {
  const { sources } = await api.rest.withOptions({ signal }).maps(map).distances({
    sources: [toBody(from)],
    targets: [toBody(to)],
    distance_method: 'euclidean',
  })
  const source = sources[0]
  const target = source?.targets[0]
  if (!source || !target) throw new TypeError('a matrix without pairs')
  const ends = { start: toPlace(source), end: toPlace(target) }
  if (source.floor_id !== target.floor_id || target.distance == null) return ends
  return { ...ends, straightFeet: target.distance }
}

function toPlace({ x, y, floor_id: floorId, name }: Schemas['MatrixTarget'] | Schemas['MatrixSource']): Place {
  return { x, y, floorId, ...(name && { name }) }
}

/** What an invalid request says about the map and its places; null if it is about something else. */
async function reasonsOf(
  api: Api,
  request: RouteRequest,
  error: unknown,
  signal?: AbortSignal,
): Promise<Reason[] | null> {
  if (!(error instanceof ResponseError) || error.status !== 422) return null
  if (error.fields.map) return findReasons(api, request, signal)
  const ends = (['from', 'to'] as const).filter((end) => error.fields[end])
  return ends.length ? ends.map((end) => ({ code: 'unknown-place', end })) : null
}
