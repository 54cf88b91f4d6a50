// What a floor shows of a route, and of what is within reach.

import type { Area } from './reach.js'
import type { FoundRoute, RouteAnswer } from './routes.js'
import type { Place } from './waypoints.js'
import { fill, type Texts } from '../texts.js'
import type { Overlay, Point } from '../view/index.js'

type Leg = FoundRoute['legs'][number]
type Passage = Pick<Leg, 'floor_id' | 'to_floor_id' | 'connector_id'>

export type RouteOverlay = Pick<Overlay, 'lines' | 'markers'>

/** Signs of connectors, in pins. */
const SIGNS = { elevator: '↕', steps: '≡', escalator: '⇅', ramp: '∠' }

/** Draw what is on a floor: walks, both ends, the straight line, and lifts and stairs as stops.
 *
 * The id of a stop is `floor:` and the id of the floor to which it leads, or from which it comes; those of the
 * ends are `start` and `end`. Without a route the ends and the straight line remain.
 */
export function routeOverlay(
  answer: RouteAnswer,
  floorId: string | undefined,
  texts: Texts,
  floorName: (id: string) => string,
): RouteOverlay {
  const { start, end } = answer
  const overlay: RouteOverlay = { lines: [], markers: [] }
  const mark = (place: Place | undefined, kind: 'start' | 'end', letter: string) => {
    if (place?.floorId !== floorId || !place) return
    const label = place.name ? `${texts[kind]}: ${place.name}` : texts[kind]
    overlay.markers.push({ id: kind, x: place.x, y: place.y, kind, text: letter, label })
  }
  if (start && end && start.floorId === floorId && end.floorId === floorId) {
    overlay.lines.push({ points: [at(start), at(end)], kind: 'straight' })
  }
  if (answer.kind === 'route') {
    for (const [index, line] of answer.lines.entries()) {
      if (line.length && answer.legs[index]?.floor_id === floorId) overlay.lines.push({ points: line.map(toPoint), kind: 'route' })
    }
    const legs = joinPassages(answer.legs)
    for (const [index, leg] of legs.entries()) {
      const { connector_kind: kind, floor_id: from, to_floor_id: to } = leg
      if (!kind || (from !== floorId && to !== floorId)) continue
      const [other, text] = from === floorId ? [to, texts.stopTo] : [from, texts.stopFrom]
      const place = from === floorId ? lastPoint(legs, answer.start, index) : firstPoint(legs, answer.end, index)
      const connector = leg.connector_name ?? texts[kind]
      const label = fill(text, { connector, floor: floorName(other) })
      overlay.markers.push({ id: `floor:${other}`, ...place, kind: 'stop', text: SIGNS[kind], label })
    }
  }
  mark(start, 'start', texts.startLetter)
  mark(end, 'end', texts.endLetter)
  return overlay
}

/** Where the walk before a passage ends. Passages that follow one another are at one place. */
function lastPoint(legs: readonly Leg[], start: Place, passage: number): Point {
  const point = legs.slice(0, passage).flatMap(({ points }) => points).at(-1)
  return point ? toPoint(point) : at(start)
}

/** Where the walk after a passage begins. */
function firstPoint(legs: readonly Leg[], end: Place, passage: number): Point {
  const point = legs.slice(passage).flatMap(({ points }) => points)[0]
  return point ? toPoint(point) : at(end)
}

/** Make one leg of those that follow one another in the same lift or on the same stairs. */
function joinPassages<L extends Passage>(legs: readonly L[]): L[] {
  return legs.reduce<L[]>((joined, leg) => {
    const last = joined.at(-1)
    const isSame = last?.connector_id != null && last.connector_id === leg.connector_id
    return isSame ? [...joined.slice(0, -1), { ...last, to_floor_id: leg.to_floor_id }] : [...joined, leg]
  }, [])
}

/** Ids of the floors that a route leads over, in their order, without those that it only passes in a lift or on stairs. */
export function floorsOf(legs: readonly Passage[]): string[] {
  const all = joinPassages(legs).flatMap(({ floor_id, to_floor_id }) => [floor_id, to_floor_id])
  return all.filter((id, index) => id !== all[index - 1])
}

/** The areas on a floor, in the form of overlays. */
export function reachOverlay(areas: readonly Area[], floorId: string | undefined): { rings: Point[][] }[] {
  const polygons = areas.filter((area) => area.floorId === floorId).flatMap((area) => area.polygons)
  return polygons.map((rings) => ({ rings: rings.map((ring) => ring.map(toPoint)) }))
}

function at({ x, y }: Point): Point {
  return { x, y }
}

function toPoint([x = 0, y = 0]: number[]): Point {
  return { x, y }
}
