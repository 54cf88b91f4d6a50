// What lies over the drawing of a storey: the route, what is within reach, and amenities.

import type { Location } from './data/building.js'
import { reachOverlay, routeOverlay } from './data/overlays.js'
import type { Reach } from './data/reach.js'
import type { RouteAnswer } from './data/routes.js'
import type { Place } from './data/waypoints.js'
import { fill, type Texts } from './texts.js'
import type { Marker, Overlay } from './view/index.js'

export interface Layers {
  floorId: string | undefined
  route?: RouteAnswer | undefined
  reach?: Reach | undefined
  /** The amenities that the user wants to see, and the one that is selected. */
  amenities?: readonly Location[] | undefined
  selected?: Location | undefined
  /** Where the person is. */
  here?: Place | undefined
  /** Of a drawing that is checked, or of the plan of the map. */
  warnings: readonly Marker[]
  texts: Texts
  floorName: (id: string) => string
}

export function overlayOf({ floorId, route, reach, amenities = [], selected, here, warnings, texts, floorName }: Layers): Overlay {
  const { lines, markers } = route ? routeOverlay(route, floorId, texts, floorName) : { lines: [], markers: [] }
  const shown = selected && !amenities.includes(selected) ? [...amenities, selected] : amenities
  return {
    areas: reach ? reachOverlay(reach.areas, floorId) : [],
    lines,
    markers: [
      ...shown.filter(({ floors }) => floors.some(({ id }) => id === floorId)).map(amenityMarker),
      ...(here?.floorId === floorId && here ? [hereMarker(here, texts)] : []),
      ...markers,
      ...warnings,
    ],
  }
}

/** Parts of what markers are called: what pressing one of them means. */
const AMENITY = 'amenity:'
const FLOOR = 'floor:'

/** What a marker stands for: an amenity, or another floor. */
export function targetOf(marker: string): { location: string } | { floor: string } | undefined {
  if (marker.startsWith(AMENITY)) return { location: marker.slice(AMENITY.length) }
  return marker.startsWith(FLOOR) ? { floor: marker.slice(FLOOR.length) } : undefined
}

function hereMarker({ x, y, name }: Place, texts: Texts): Marker {
  return { id: 'here', x, y, kind: 'here', text: '', label: name ? fill(texts.hereIs, { name }) : texts.here }
}

function amenityMarker({ id, name, x, y }: Location): Marker {
  return { id: AMENITY + id, x, y, kind: 'amenity', text: name.charAt(0), label: name }
}
