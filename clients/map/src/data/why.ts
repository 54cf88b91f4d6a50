// Why a route does not exist: what the service says if it is asked otherwise.

import type { Avoidable, Mode } from '../state.js'
import { type Api, type Schemas } from './api.js'
import type { RouteRequest } from './routes.js'
import { type Place, toBody, toInput } from './waypoints.js'

/** The step of another route that the wanted one cannot take. */
export type Barrier = Pick<Schemas['RouteStep'], 'text' | 'x' | 'y' | 'floor_id' | 'connector_kind'>

type ConnectorKind = NonNullable<Barrier['connector_kind']>

/** What may be given up: the wheelchair, or something that is avoided. */
export type Demand = 'wheelchair' | Avoidable

export type Reason =
  | { code: 'not-processed' }
  /** The map had routes until something changed; `why` is the service's text. */
  | { code: 'stale'; why: string }
  /** The map has no such place, or a unit has no location on it. */
  | { code: 'unknown-place'; end: 'from' | 'to' }
  /** It is beside the floor that can be walked, or in a closed part. */
  | { code: 'off-floor'; end: 'from' | 'to' }
  /** There is a route with `mode` and `avoid`, which give up what is `dropped`. */
  | {
      code: 'demands'
      dropped: Demand[]
      mode: Mode
      avoid: Avoidable[]
      feet: number
      seconds: number
      barrier?: Barrier
    }
  | { code: 'closed'; parts: ClosedPart[] }
  /** There is a route back. */
  | { code: 'one-way' }
  /** Nothing walkable joins the places. */
  | { code: 'apart' }

export interface ClosedPart {
  id: string
  part: 'connector' | 'door' | 'space'
  name?: string
  /** Of a connector. */
  kind?: ConnectorKind
  place?: Place
}

type Closures = Record<'connectors' | 'doors' | 'spaces', string[]>
type Alternative = { feet: number; seconds: number; steps: (Barrier & { code: string })[] } | null
interface Answer {
  map: {
    routing: { isRoutable: boolean; isStale: boolean; reason: string | null } | null
    closures: Closures | null
    matrix?: { sources: { targets: { distance: number | null }[] }[] } | null
    [alternative: `way${number}`]: Alternative
  } | null
}

export const MAX_PARTS = 10
const MAX_PAIRS = 50

/** Find out why there is no route. There is at least one reason. */
export async function findReasons(api: Api, request: RouteRequest, signal?: AbortSignal): Promise<Reason[]> {
  const options = listOptions(request)
  const variables = { map: request.map, from: toInput(request.from), to: toInput(request.to) }
  const map = (await api.graphql<Answer>(writeQuery(options), variables, signal)).data?.map
  if (map?.routing?.isStale) return [{ code: 'stale', why: map.routing.reason ?? '' }]
  if (map?.routing?.isRoutable === false) return [{ code: 'not-processed' }]
  const reasons: Reason[] = []
  const rows = map?.matrix?.sources.map(({ targets }) => targets.map(({ distance }) => distance)) ?? []
  if (rows[0]?.[0] === null) reasons.push({ code: 'off-floor', end: 'from' })
  if (rows[1]?.[1] === null) reasons.push({ code: 'off-floor', end: 'to' })
  const ways = options.flatMap((option, index) => {
    const way = map?.[`way${index}`]
    return way ? [{ ...option, way }] : []
  })
  for (const { way, ...option } of smallest(ways)) {
    const barrier = await findBarrier(api, request, way.steps, signal)
    reasons.push({ code: 'demands', ...option, feet: way.feet, seconds: way.seconds, ...(barrier && { barrier }) })
  }
  if (map?.closures) {
    const parts = await listClosed(api, request.map, map.closures, signal)
    if (parts.length) reasons.push({ code: 'closed', parts })
  }
  if (rows[0]?.[1] === null && rows[1]?.[0] != null) reasons.push({ code: 'one-way' })
  return reasons.length ? reasons : [{ code: 'apart' }]
}

interface Option {
  dropped: Demand[]
  mode: Mode
  avoid: Avoidable[]
}

/** What can be asked instead, with the least given up first.
 *
 * Each demand is given up by itself, all that is avoided at once, and everything.
 */
export function listOptions({ mode, avoid }: Pick<RouteRequest, 'mode' | 'avoid'>): Option[] {
  const demands: Demand[] = [...(mode === 'wheelchair' ? (['wheelchair'] as const) : []), ...avoid]
  const sets = [...demands.map((demand) => [demand]), [...avoid], demands]
  const different = new Map(sets.filter((set) => set.length).map((set) => [set.join(), set]))
  return [...different.values()].map((dropped) => ({
    dropped,
    mode: dropped.includes('wheelchair') ? 'foot' : mode,
    avoid: avoid.filter((each) => !dropped.includes(each)),
  }))
}

/** Only options that give up nothing more than another one. */
export function smallest<T extends Pick<Option, 'dropped'>>(options: T[]): T[] {
  const contains = (larger: T, smaller: T) => smaller.dropped.every((each) => larger.dropped.includes(each))
  return options.filter((option) => !options.some((other) => other !== option && contains(option, other)))
}

function writeQuery(options: Option[]): string {
  const ways = options.map(
    ({ mode, avoid }, index) => `way${index}: route(from: $from, to: $to, mode: ${mode}, avoid: [${avoid.join()}]) {
      feet seconds steps { code text x y floor_id: floorId connector_kind: connectorKind }
    }`,
  )
  return `query WhyNoRoute($map: ID!, $from: WaypointInput!, $to: WaypointInput!) { map(id: $map) {
    routing { isRoutable isStale reason }
    closures { connectors doors spaces }
    matrix: distanceMatrix(sources: [$from, $to], targets: [$from, $to], distanceMethod: pathfinding) {
      sources { targets { distance } }
    }
    ${ways.join('\n')}
  } }`
}

/** Return the last step of another route that is within reach: what follows is behind the barrier. */
async function findBarrier(
  api: Api,
  { map, from, mode, avoid }: RouteRequest,
  steps: Barrier[],
  signal?: AbortSignal,
): Promise<Barrier | undefined> {
  const tried = steps.slice(0, MAX_PAIRS)
  const { sources } = await api.rest.withOptions({ signal }).maps(map).distances({
    sources: [toBody(from)],
    targets: tried.map(({ x, y, floor_id }) => ({ x, y, floor_id })),
    costing_options: { pedestrian: { mode, avoid: [...avoid] } },
    distance_method: 'pathfinding',
  })
  const targets = sources[0]?.targets ?? []
  return tried[targets.findIndex(({ distance }) => distance === null) - 1]
}

/** List what is closed, connectors first, with names if the plan has them. */
async function listClosed(api: Api, map: string, closures: Closures, signal?: AbortSignal): Promise<ClosedPart[]> {
  const parts: ClosedPart[] = [
    ...closures.connectors.map((id) => ({ id, part: 'connector' as const })),
    ...closures.doors.map((id) => ({ id, part: 'door' as const })),
    ...closures.spaces.map((id) => ({ id, part: 'space' as const })),
  ].slice(0, MAX_PARTS)
  const missing = new Map(parts.map((part) => [`${part.part} ${part.id}`, part]))
  if (!missing.size) return parts
  const list = api.rest.withOptions({ signal }).maps(map).closures.candidates({ per_page: 1000 })
  for await (const { id, part, name, kind, places } of list) {
    const found = missing.get(`${part} ${id}`)
    if (!found) continue
    const [place] = places
    if (name) found.name = name
    if (isConnector(kind)) found.kind = kind
    if (place) found.place = { x: place.x, y: place.y, floorId: place.floor_id }
    missing.delete(`${part} ${id}`)
    if (!missing.size) break
  }
  return parts
}

const CONNECTORS = ['elevator', 'steps', 'escalator', 'ramp'] as const satisfies ConnectorKind[]

function isConnector(kind: Schemas['Closable']['kind']): kind is ConnectorKind {
  return (CONNECTORS as readonly unknown[]).includes(kind)
}
