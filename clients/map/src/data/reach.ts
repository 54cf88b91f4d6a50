// What is near a waypoint: the nearest locations, and what is within some minutes.

import { writeWaypoint } from '../links.js'
import type { Avoidable, Mode, Waypoint } from '../state.js'
import { type Api, ResponseError, type Schemas } from './api.js'
import { kindsOf } from './building.js'
import { type Place, toInput } from './waypoints.js'

export interface Start {
  map: string
  from: Waypoint
  mode: Mode
  avoid: readonly Avoidable[]
}

export interface Near {
  /** Id of the location. */
  id: string
  place: Place
  feet: number
  seconds: number
  /** What it is, such as `amenity==gym`. */
  kinds: string[]
}

export const AMENITIES = 'svc:amenity'
export const NEAREST = 100

/** List the nearest locations with these tags, nearest first. Throws FloorgateError. */
export async function findNearest(
  api: Api,
  { map, from, mode, avoid, tags = AMENITIES }: Start & { tags?: string | undefined },
  signal?: AbortSignal,
): Promise<Near[]> {
  const query = { from: writeWaypoint(from), tags, limit: NEAREST, mode, avoid: avoid.length ? avoid : undefined }
  const found = await api.rest.withOptions({ signal }).maps(map).nearest(query)
  return found.map(({ distance, time, location }) => ({
    id: location.id,
    place: toPlace(location),
    feet: distance,
    seconds: time,
    kinds: kindsOf(location),
  }))
}

function toPlace({ x, y, name, floors }: Schemas['Location']): Place {
  return { x, y, floorId: floors[0]?.id ?? '', ...(name && { name }) }
}

export interface Area {
  floorId: string
  squareFeet: number
  /** Each has its outline and its holes, as rings of x, y in the map's own coordinates. */
  polygons: number[][][][]
}

export interface Reach {
  minutes: number
  areas: Area[]
  /** Ids of units, nearest first. */
  units: string[]
  /** Ids of locations that stand for no unit, nearest first. */
  amenities: string[]
}

/** So many units and so many amenities are listed at most. */
export const MAX_WITHIN = 1000
const QUERY = `query Reach($map: ID!, $from: WaypointInput!, $minutes: Float!, $mode: TravelMode!, $avoid: [Avoidable!]) {
  map(id: $map) { reachable(from: $from, minutes: $minutes, mode: $mode, avoid: $avoid) {
    areas { floorId squareFeet polygons }
    units(limit: ${MAX_WITHIN}) { unit { id } }
    amenities: locations(tags: "-svc:id", limit: ${MAX_WITHIN}) { location { id } }
  } }
}`

interface ReachAnswer {
  map: {
    reachable: {
      areas: Area[] | null
      units: { unit: { id: string } }[] | null
      amenities: { location: { id: string } }[] | null
    } | null
  } | null
}

/** Find what is within some minutes, from 0 to 60: areas by floor, units and amenities. Throws if it cannot. */
export async function findReach(
  api: Api,
  { map, from, minutes, mode, avoid }: Start & { minutes: number },
  signal?: AbortSignal,
): Promise<Reach> {
  const variables = { map, from: toInput(from), minutes, mode, avoid }
  const { data, errors } = await api.graphql<ReachAnswer>(QUERY, variables, signal)
  const found = data?.map?.reachable
  if (!found) throw refusal(errors?.[0])
  const units = (found.units ?? []).map(({ unit }) => unit.id)
  const amenities = (found.amenities ?? []).map(({ location }) => location.id)
  return { minutes, areas: found.areas ?? [], units, amenities }
}

/** A field that GraphQL refuses, as the error that REST would have. */
function refusal(error?: { message: string; extensions?: { code?: string } }): ResponseError {
  const code = error?.extensions?.code
  const status = code === 'PERMISSION_REQUIRED' ? 403 : code === 'INVALID_INPUT' ? 422 : error ? 400 : 404
  return new ResponseError(new Response(null, { status }), { message: error?.message, code })
}
