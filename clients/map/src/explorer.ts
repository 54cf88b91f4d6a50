// What the explorer knows and does: the data, the panel that is open, and what clicks and keys mean.

import { Checks } from './checks.js'
import { type Api, toMessage } from './data/api.js'
import type { Location } from './data/building.js'
import { type DataHost, MapData } from './data/map_data.js'
import type { FoundRoute } from './data/routes.js'
import type { Found } from './data/search.js'
import type { Place } from './data/waypoints.js'
import { writeWaypoint } from './links.js'
import { Memo } from './memo.js'
import { overlayOf, targetOf } from './overlay.js'
import { RouteFinder } from './panels/route_finder.js'
import type { End } from './panels/routes_view.js'
import { ShownMap, type Target } from './shown_map.js'
import type { ExplorerState, Waypoint } from './state.js'
import type { FloorgateMapEvents } from './state_element.js'
import type { Texts } from './texts.js'
import type { Overlay, Point } from './view/index.js'

export type Panel = 'card' | 'layers' | 'routes' | 'check'

/** The element around it. */
export interface ExplorerHost extends DataHost {
  readonly isUntouched: boolean
  change(part: Partial<ExplorerState>): void
  fire<E extends keyof FloorgateMapEvents>(type: E, detail: FloorgateMapEvents[E]['detail']): void
}

export class Explorer {
  readonly data
  readonly finder
  readonly checks
  readonly shown
  /** The entry of the legend that units are shown of. */
  entry: string | undefined
  /** The units that the search finds. */
  results: ReadonlySet<string> | undefined
  /** Whether the card shows its JSON. */
  isJsonOpen = false
  /** The end of a route that the next click on the map sets. */
  choosing: End | undefined
  /** What is brought into view as soon as it is there. */
  toShow: Target | undefined
  #panel: Panel | undefined
  /** The floor that was shown before a drawing was. */
  #floor: string | undefined
  #announced: unknown
  #shownHere: Place | undefined
  readonly #memo = new Memo()

  constructor(private readonly host: ExplorerHost) {
    const showsAttributes = () => this.#panel === 'card' || this.#panel === 'layers' || host.state.color !== undefined
    this.data = new MapData(host, showsAttributes)
    this.finder = new RouteFinder(host, {
      isOpen: () => this.#panel === 'routes',
      start: () => this.start,
      found: (answer) => answer.kind === 'route' && this.#showRoute(answer),
    })
    this.checks = new Checks(host, () => this.#panel === 'check')
    this.shown = new ShownMap({
      pick: (place) => this.#pick(place),
      marker: ({ id }) => this.#pressMarker(id),
      drawn: () => this.announce(this.data.start, 'ready', { map: host.state.map!, name: this.data.start?.map.name ?? '' }),
    })
  }

  /** The panel that is open. */
  get panel(): Panel | undefined {
    return this.#panel
  }

  open(panel: Panel | undefined): void {
    this.set({ choosing: undefined })
    this.#panel = panel
  }

  set(part: Partial<Pick<Explorer, 'entry' | 'results' | 'choosing' | 'isJsonOpen'>>): void {
    Object.assign(this, part)
    this.host.requestUpdate()
  }

  /** Open and show what a change of the state is about. */
  follow(last: ExplorerState | undefined): void {
    const { map, unit, location, here, from, to, color } = this.host.state
    if (last && last.map !== map) this.checks.close()
    if (last?.color !== color) this.entry = undefined
    if (unit !== last?.unit || location !== last?.location) {
      this.isJsonOpen = false
      if (unit !== undefined || location !== undefined) this.#panel = 'card'
      else if (this.#panel === 'card') this.#panel = undefined
    }
    const isAt = (place: Waypoint | undefined) => place && writeWaypoint(place)
    if (here && isAt(here) !== isAt(last?.here)) this.#panel = 'routes'
    if (last) return
    if (from || to) this.#panel = 'routes'
    this.toShow = unit !== undefined ? { unit } : location !== undefined ? { location } : 'page'
  }

  /** The JSON that a path answers, if the card shows it. */
  jsonOf(path: string): Promise<string> | undefined {
    const { api } = this.host
    if (!this.isJsonOpen || !api) return undefined
    return this.#memo.keep('json', [api, path], () => api.readJson(path).catch((error) => toMessage(error, this.host.fullTexts)))
  }

  /** The amenity that is selected. */
  get location(): Location | undefined {
    return this.data.building?.amenities.get(this.host.state.location ?? '')
  }

  /** Whether the card still waits for what it shows. */
  get isCardGrowing(): boolean {
    const { building, unit, unitError, error } = this.data
    const waitsForUnit = this.host.state.unit !== undefined && unit === undefined && !unitError
    return this.#panel === 'card' && !error && (!building || waitsForUnit)
  }

  get floorNames(): ReadonlyMap<string, string> {
    const { start } = this.data
    return this.#memo.keep('floors', [start], () => new Map(start?.floors.map(({ id, name }) => [id, name])))
  }

  nameOf({ unit, location }: Waypoint): string | undefined {
    const { building } = this.data
    return building?.units.get(unit ?? '')?.name ?? building?.amenities.get(location ?? '')?.name
  }

  /** Where the person is, once the map is known, and if it has the place. */
  get here(): Place | undefined {
    const { here } = this.host.state
    return this.#memo.keep('here', [here, this.data.building, this.floorNames], () => here && this.#placeOf(here))
  }

  #placeOf(waypoint: Waypoint): Place | undefined {
    const { building } = this.data
    const { unit = '', location = '', x, y, floor = '' } = waypoint
    if (x !== undefined && y !== undefined) return this.floorNames.has(floor) ? { x, y, floorId: floor } : undefined
    const found = building?.locationsOfUnits.get(unit) ?? building?.amenities.get(location)
    const name = this.nameOf(waypoint)
    return found && { x: found.x, y: found.y, floorId: found.floors[0]?.id ?? '', ...(name !== undefined && { name }) }
  }

  /** Whether the map does not have the place where the person is said to be. */
  get isLost(): boolean {
    const { here } = this.host.state
    return here !== undefined && this.data.building !== undefined && !this.here && this.nameOf(here) === undefined
  }

  /** Where a route starts. */
  get start(): Waypoint | undefined {
    return this.host.state.from ?? (this.isLost ? undefined : this.host.state.here)
  }

  /** Show where the person is, once that is known. */
  showHere(): void {
    const { here } = this
    const { floor, to } = this.host.state
    if (!here || here === this.#shownHere) return
    this.#shownHere = here
    if (floor === undefined && !to) this.show(here, here.floorId)
  }

  /** What lies over the storey that is shown. */
  get overlay(): Overlay {
    const { storey } = this.shown
    const { drawing, report } = this.checks
    const checked = this.#panel === 'check' ? (drawing ?? report) : undefined
    const warnings = this.#memo.keep('warnings', [checked, storey], () => (checked ? this.checks.markersOn(storey) : []))
    const isOther = drawing !== undefined
    const parts = [storey?.id, this.finder.route.value, this.finder.reach.value, this.data.tagged, this.location, warnings, isOther, this.host.fullTexts, this.here] as const
    return this.#memo.keep('overlay', parts, () => {
      const [floorId, route, reach, amenities, selected, warnings, , texts, here] = parts
      const floorName = (id: string) => this.floorNames.get(id) ?? id
      const own = isOther ? {} : { route, reach, amenities, selected, here }
      return overlayOf({ floorId, ...own, warnings, texts, floorName })
    })
  }

  /** Take what was chosen in the search. */
  choose({ kind, id, floorId }: Found) {
    if (this.choosing) return this.#setEnd(kind === 'unit' ? { unit: id } : { location: id })
    this.select(kind === 'unit' ? { unit: id } : { location: id, floor: floorId })
    this.toShow = kind === 'unit' ? { unit: id } : { location: id }
  }

  /** Select a unit or a location, or nothing. */
  select({ unit, location, floor }: { unit?: string; location?: string; floor?: string | undefined }) {
    const storey = unit === undefined ? floor : this.shown.storeyOf(unit)?.id
    if (unit === this.host.state.unit && location === this.host.state.location) return
    this.host.change({ unit, location, ...(storey !== undefined && { floor: storey }) })
    const found = this.data.building?.units.get(unit ?? '')
    this.host.fire('unitselect', found ? { id: found.id, name: found.name, floorId: found.floor_id } : null)
  }

  #pick({ x, y, unit }: { x: number; y: number; unit?: string }) {
    const named = unit === undefined && this.shown.namedAt({ x, y }, this.data.building?.amenities.values() ?? [])
    if (!this.choosing) return this.select(named ? { location: named.id } : unit === undefined ? {} : { unit })
    if (named) return this.#setEnd({ location: named.id })
    const hasLocation = unit !== undefined && this.data.building?.locationsOfUnits.has(unit)
    this.#setEnd(hasLocation ? { unit } : { x, y, floor: this.shown.storey?.id ?? '' })
  }

  #pressMarker(id: string) {
    this.checks.selected = id
    this.host.requestUpdate()
    const target = targetOf(id)
    if (!target) return
    if ('floor' in target) this.host.change(target)
    else if (this.choosing) this.#setEnd(target)
    else this.select(target)
  }

  startRoute(end: End, waypoint: Waypoint) {
    this.host.change({ [end]: waypoint })
    this.open('routes')
  }

  /** Show a route from its start. */
  #showRoute(route: FoundRoute) {
    const { floorId: first } = route.start
    const floor = this.host.isUntouched ? (this.host.state.floor ?? first) : first
    const walked = route.legs.filter(({ floor_id }) => floor_id === floor).flatMap(({ points }) => points)
    const start = floor === first ? [route.start] : []
    this.toShow = { points: [...start, ...walked.map(([x = 0, y = 0]) => ({ x, y }))] }
    this.host.change({ floor })
    this.host.fire('routefound', route)
  }

  #setEnd(waypoint: Waypoint) {
    const end = this.choosing!
    this.choosing = undefined
    this.host.change({ [end]: waypoint })
  }

  /** Leave what is open: first the choice of a place, then the panel. */
  leave() {
    if (this.choosing) this.set({ choosing: undefined })
    else if (this.#panel === 'card') this.select({})
    else this.open(undefined)
  }

  /** Bring a place into view. */
  show(place: Point, floor: string | undefined) {
    this.toShow = { points: [place] }
    if (floor !== undefined) this.host.change({ floor })
    this.host.requestUpdate()
  }

  /** Show a drawing as the service reads it. */
  async check(api: Api, file: Blob): Promise<void> {
    this.open('check')
    if (!this.checks.drawing) this.#floor = this.host.state.floor
    await this.checks.open(api, file, this.host.fullTexts)
    this.toShow = 'page'
  }

  /** Show the map again in place of the drawing. */
  endCheck(): void {
    this.checks.close()
    this.host.change({ floor: this.#floor })
    this.toShow = 'page'
    this.host.fire('checkend', null)
  }

  /** Compare the units of the drawing that is checked, and shown, with those of the map. */
  compareUnits(): void {
    const { building } = this.data
    const { view } = this.shown
    if (building && view) this.checks.compare(building, view, this.host.fullTexts)
  }

  /** Fire an event once for each subject, such as a map. */
  announce<E extends 'ready' | 'failure'>(subject: unknown, type: E, detail: FloorgateMapEvents[E]['detail']): void {
    if (this.#announced === subject) return
    this.#announced = subject
    this.host.fire(type, detail)
  }
}
