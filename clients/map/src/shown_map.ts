// Keeps the picture as the state and the data say, and changes only what has changed.

import type { Building, Floor, Location } from './data/building.js'
import { type Storey, storeysOf } from './data/storeys.js'
import { type Box, MapView, type NamedPlace, type Overlay, type Padding, type ParsedMap, type Point, type ViewEvents } from './view/index.js'

/** What the picture is to show. Parts that are the same object as before are left as they are. */
export interface Shown {
  label: string
  drawing: ParsedMap
  floors: readonly Floor[]
  /** Id of a storey; the first by default. */
  floor: string | undefined
  unit: string | undefined
  fills: ReadonlyMap<string, string>
  labels: ReadonlyMap<string, string>
  /** Named where they are; the names of units are in `labels`. */
  amenities: Iterable<Location>
  dimmed: ReadonlySet<string> | undefined
}

/** What the view is to show: a unit, a location, some points, or the whole page. */
export type Target = { unit: string } | { location: string } | { points: readonly Point[] } | 'page'

type Listeners = { [E in keyof ViewEvents]?: (detail: ViewEvents[E]) => void }

/** How many times wider than a unit the view is that shows it. */
const AROUND_UNIT = 5
/** Least share of the page that is shown around places. */
const AROUND_PLACE = 0.3
/** In pixels. */
const [NAME_WIDTH, NAME_HEIGHT] = [80, 32]

export class ShownMap {
  storeys: readonly Storey[] = []
  #view: MapView | undefined
  #last: Partial<Shown> = {}
  #overlay: Overlay | undefined
  #isFirst = true

  constructor(private readonly listeners: Listeners) {}

  get view(): MapView | undefined {
    return this.#view
  }

  /** The storey that is shown. */
  get storey(): Storey | undefined {
    return this.storeys.find(({ level }) => level === this.#view?.level)
  }

  show(host: HTMLElement, next: Shown): void {
    const last = this.#last
    this.#last = next
    const view = (this.#view ??= this.#create(host, next.label))
    const isNew = next.drawing !== last.drawing
    if (isNew) view.setDrawing(next.drawing)
    if (isNew || next.floors !== last.floors) this.storeys = storeysOf(view.levels, next.floors)
    if (isNew || next.floor !== last.floor || next.floors !== last.floors) this.#showFloor(view, next.floor)
    if (next.fills !== last.fills) view.setFills(next.fills)
    if (next.labels !== last.labels) view.setLabels(next.labels)
    if (isNew || next.amenities !== last.amenities || next.floors !== last.floors) view.setPlaces(this.#namedPlaces(next.amenities))
    if (next.dimmed !== last.dimmed) view.setDimmed(next.dimmed)
    if (isNew || next.unit !== last.unit) view.select(next.unit)
    if (isNew || next.floor !== last.floor) this.#overlay = undefined
  }

  /** Lay an overlay over the storey that is shown. */
  cover(overlay: Overlay): void {
    if (overlay === this.#overlay) return
    this.#overlay = overlay
    this.#view?.setOverlay(overlay)
  }

  /** Bring something into view, beside the panels. Returns whether the drawing has it. */
  aim(target: Target, building: Building | undefined, padding: Padding): boolean {
    const box = this.#boxOf(target, building)
    if (box) this.#view?.fit(box, { animate: !this.#isFirst, padding })
    this.#isFirst = false
    return box !== undefined
  }

  #boxOf(target: Target, building: Building | undefined): Box | undefined {
    const page = this.#view?.levels[0]?.box
    if (!page) return undefined
    if (target !== 'page' && 'points' in target) return boxAround(target.points, Math.max(page.width, page.height) * AROUND_PLACE)
    if (target === 'page') return page
    if ('location' in target) {
      const location = building?.amenities.get(target.location)
      return location && boxAround([location], Math.max(page.width, page.height) * AROUND_PLACE)
    }
    const unit = this.#view?.boxOf(target.unit)?.box
    return unit && boxAround([unit, { x: unit.x + unit.width, y: unit.y + unit.height }], Math.max(unit.width, unit.height) * AROUND_UNIT)
  }

  /** The place of the storey shown that is named at a point, if any. */
  namedAt<P extends Location>(point: Point, places: Iterable<P>): P | undefined {
    const view = this.#view
    if (!view) return undefined
    const pressed = view.toPixels(point)
    return [...places].find((place) => {
      const { x, y } = view.toPixels(place)
      const isOn = Math.abs(x - pressed.x) < NAME_WIDTH / 2 && Math.abs(y - pressed.y) < NAME_HEIGHT / 2
      return isOn && place.floors.some(({ id }) => id === this.storey?.id)
    })
  }

  /** The storey that has a unit; undefined if the drawing does not show it. */
  storeyOf(unit: string): Storey | undefined {
    const found = this.#view?.boxOf(unit)
    return found && this.storeys.find(({ level }) => level === found.level)
  }

  destroy(): void {
    this.#view?.destroy()
    this.#view = undefined
    this.#last = {}
    this.#overlay = undefined
  }

  #namedPlaces(amenities: Iterable<Location>): NamedPlace[] {
    return [...amenities].flatMap(({ x, y, name: text, floors }) =>
      this.storeys.filter(({ id }) => floors.some((floor) => floor.id === id)).map(({ level }) => ({ x, y, text, level })),
    )
  }

  #showFloor(view: MapView, floor: string | undefined): void {
    const storey = this.storeys.find(({ id }) => id === floor) ?? this.storeys[0]
    if (storey) view.showLevel(storey.level)
  }

  #create(host: HTMLElement, label: string): MapView {
    const view = new MapView(host, { label })
    for (const [event, listener] of Object.entries(this.listeners)) view.on(event as 'move', listener as () => void)
    return view
  }
}

/** The box around points, at least so large. */
function boxAround(points: readonly Point[], least: number): Box {
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)]
  const [left, top] = [Math.min(...xs), Math.min(...ys)]
  const [width, height] = [Math.max(...xs) - left, Math.max(...ys) - top]
  const [wide, high] = [Math.max(width * 1.2, least), Math.max(height * 1.2, least)]
  return { x: left - (wide - width) / 2, y: top - (high - height) / 2, width: wide, height: high }
}
