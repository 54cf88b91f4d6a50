// <floorgate-map>: a map of a building with search, floors, units, amenities and routes.

import { html, nothing, type PropertyValues, type TemplateResult, unsafeCSS } from 'lit'
import { type Api, connect, toMessage } from './data/api.js'
import { fillsOf } from './data/attributes.js'
import { MapData } from './data/map_data.js'
import { type Measure, measureOf } from './data/measures.js'
import type { FoundRoute } from './data/routes.js'
import type { Found } from './data/search.js'
import { Checks } from './checks.js'
import { elementStyles } from './element.css.js'
import { Memo } from './memo.js'
import { overlayOf, targetOf } from './overlay.js'
import { type CardOptions, locationCard, unitCard } from './panels/card.js'
import { checksPanel } from './panels/checks.js'
import { drawingCheckStyles } from './panels/drawing_check.css.js'
import { floorSwitch } from './panels/floors.js'
import { icons } from './panels/icons.js'
import { layersPanel } from './panels/layers.js'
import { notice } from './panels/notice.js'
import { RouteFinder } from './panels/route_finder.js'
import { routesStyles } from './panels/routes.css.js'
import { routesPanel } from './panels/routes.js'
import type { End } from './panels/routes_view.js'
import { SearchField } from './panels/search.js'
import { controls } from './panels/styles.js'
import { ShownMap, type Target } from './shown_map.js'
import type { ExplorerState, Waypoint } from './state.js'
import { type FloorgateMapEvents, StateElement } from './state_element.js'
import { ENGLISH, fill, type Texts } from './texts.js'
import { type Padding, type Point, viewStyles } from './view/index.js'

const ALL_CONTROLS = 'search floors zoom layers routes card'
const SCHEMES = { auto: 'light dark', light: 'light', dark: 'dark' }
const ZOOM_STEP = 1.6
const NO_FLOORS: never[] = []
const NO_FILLS: ReadonlyMap<string, string> = new Map()

type Panel = 'card' | 'layers' | 'routes' | 'check'

export class FloorgateMap extends StateElement {
  static override properties = {
    url: {},
    apiKey: { attribute: 'api-key' },
    controls: {},
    measure: {},
    ...StateElement.properties,
    texts: { attribute: false },
    panel: { state: true },
    entry: { state: true },
    results: { state: true },
    choosing: { state: true },
  }
  static override styles = [controls, unsafeCSS(viewStyles), elementStyles, routesStyles, drawingCheckStyles]

  /** Address of the service; by default that of the page. */
  declare url: string
  /** An API key that everyone who sees the page may have. */
  declare apiKey: string
  /** Which controls are shown, separated by spaces. */
  declare controls: string
  /** Of lengths; by default as the user's language has it. */
  declare measure: Measure
  /** Texts in place of the English ones. */
  declare texts: Partial<Texts>

  /** The panel that is open. */
  declare panel: Panel | undefined
  /** The entry of the legend that units are shown of. */
  declare entry: string | undefined
  /** The units that the search finds. */
  declare results: ReadonlySet<string> | undefined
  /** The end of a route that the next click on the map sets. */
  declare choosing: End | undefined

  #api: Api | undefined
  #announced: unknown
  #toShow: Target | undefined
  readonly #memo = new Memo()
  readonly #data = new MapData(this)
  readonly #finder = new RouteFinder(this, {
    isOpen: () => this.panel === 'routes',
    found: (answer) => answer.kind === 'route' && this.#showRoute(answer),
  })
  readonly #checks = new Checks(this, () => this.panel === 'check')
  readonly #shown = new ShownMap({
    pick: (place) => this.#pick(place),
    marker: ({ id }) => this.#openMarker(id),
    drawn: () => this.#announce(this.#data.start, 'ready', { map: this.state.map! }),
  })

  constructor() {
    super()
    this.url = location.origin
    this.apiKey = ''
    this.controls = ALL_CONTROLS
    this.measure = measureOf(navigator.language)
    this.texts = {}
    this.addEventListener('dragover', (event) => this.#shows('check') && event.preventDefault())
    this.addEventListener('drop', (event) => this.#drop(event))
    this.addEventListener('keydown', ({ key }) => key === 'Escape' && this.#leave())
  }

  get api(): Api | undefined {
    return this.#api
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    this.#shown.destroy()
  }

  /** Show a drawing as the service reads it, with its warnings; nothing is stored. */
  async checkDrawing(file: Blob) {
    if (!this.#api) return
    this.panel = 'check'
    await this.#checks.open(this.#api, file, this.#texts)
    this.#toShow = 'page'
  }

  /** Where a position on the map is in the element, in pixels; undefined until the map is drawn. */
  toPixels(position: Point): Point | undefined {
    return this.#shown.view?.toPixels(position)
  }

  protected override willUpdate(changed: PropertyValues<this>) {
    if (changed.has('url') || changed.has('apiKey')) this.#api = this.apiKey ? connect(this.url, this.apiKey) : undefined
    if (changed.has('state')) this.#follow(changed.get('state'))
  }

  /** Open and show what a change of the state is about. */
  #follow(last: ExplorerState | undefined) {
    const { unit, location, from, to, color, theme } = this.state
    if (last?.color !== color) this.entry = undefined
    if (last?.theme !== theme) this.style.colorScheme = SCHEMES[theme]
    if (unit !== last?.unit || location !== last?.location) {
      if (unit !== undefined || location !== undefined) this.panel = 'card'
      else if (this.panel === 'card') this.panel = undefined
    }
    if (!last && (from || to)) this.panel = 'routes'
    if (!last) this.#toShow = unit === undefined ? 'page' : { unit }
  }

  protected override render() {
    const texts = this.#texts
    const { storeys, storey, view } = this.#shown
    return html`
      <div class="map" part="map"></div>
      ${this.#notice()}
      <div class="top" part="top">
        <slot name="brand"></slot>
        ${this.#shows('search')
          ? html`<floorgate-search
              .index=${this.#data.index}
              .texts=${texts}
              .floorNames=${this.#floorNames}
              @choose=${({ detail }: CustomEvent<Found>) => this.#choose(detail)}
              @results=${({ detail }: CustomEvent<ReadonlySet<string>>) => (this.results = detail)}
            ></floorgate-search>`
          : nothing}
        ${this.#shows('routes') && this.#finder.availability.value?.allowed ? this.#opener('routes', texts.routes, icons.route) : nothing}
        ${this.#shows('check') && this.#api ? this.#opener('check', texts.check, icons.check) : nothing}
        ${this.#shows('layers') && this.#data.building ? this.#opener('layers', texts.layers, icons.layers) : nothing}
      </div>
      ${this.#panel()}
      <div class="right">
        ${this.#shows('floors') && storeys.length > 1
          ? floorSwitch(storeys, storey?.id ?? '', texts, (floor) => this.change({ floor }))
          : nothing}
        ${this.#shows('zoom') && view
          ? html`<div class="zoom surface" part="zoom">
              <button aria-label=${texts.zoomIn} @click=${() => view.zoomBy(ZOOM_STEP)}>${icons.plus}</button>
              <button aria-label=${texts.zoomOut} @click=${() => view.zoomBy(1 / ZOOM_STEP)}>${icons.minus}</button>
              <button aria-label=${texts.showAll} @click=${() => view.fit(undefined, { animate: true, padding: this.#freeSpace() })}>${icons.whole}</button>
            </div>`
          : nothing}
      </div>
      <div class="attribution"><slot name="attribution"></slot></div>
    `
  }

  protected override updated(changed: PropertyValues<this>) {
    const { start, building, legend, error } = this.#data
    if (error) this.#announce(error, 'failure', { error, message: this.#explain(error) })
    const checked = this.#checks.drawing
    const drawing = checked?.parsed ?? start?.drawing
    if (!drawing) return
    const before = this.#shown.storey
    this.#shown.show(this.renderRoot.querySelector<HTMLElement>('.map')!, {
      label: checked ? this.#texts.mapOfDrawing : fill(this.#texts.mapOf, { name: start!.map.name }),
      drawing,
      floors: checked ? NO_FLOORS : start!.floors,
      floor: this.state.floor,
      unit: this.state.unit,
      fills: this.#memo.keep('fills', [legend], () => (legend ? fillsOf(legend) : NO_FILLS)),
      labels: this.#memo.keep('labels', [building], () => new Map([...(building?.units.values() ?? [])].map(({ id, name }) => [id, name]))),
      amenities: checked ? NO_FLOORS : this.#memo.keep('amenities', [building], () => [...(building?.amenities.values() ?? [])]),
      dimmed: this.results ?? legend?.find(({ id }) => id === this.entry)?.units,
    })
    this.#shown.cover(this.#overlay())
    if (changed.has('state') && changed.get('state')?.theme !== this.state.theme) this.#shown.view?.refreshColors()
    if (this.#toShow && this.#shown.aim(this.#toShow, this.#freeSpace())) this.#toShow = undefined
    if (before !== this.#shown.storey) this.requestUpdate() // the switch of floors shows it
  }

  get #texts(): Texts {
    return this.#memo.keep('texts', [this.texts], () => ({ ...ENGLISH, ...this.texts }))
  }

  get #floorNames(): ReadonlyMap<string, string> {
    const { start } = this.#data
    return this.#memo.keep('floors', [start], () => new Map(start?.floors.map(({ id, name }) => [id, name])))
  }

  #shows(control: string): boolean {
    return this.controls.split(/\s+/).includes(control)
  }

  #opener(panel: Panel, name: string, sign: TemplateResult) {
    const isOpen = this.panel === panel
    const press = () => (this.panel = isOpen ? undefined : panel)
    return html`<button class="icon" aria-label=${name} title=${name} aria-pressed=${isOpen} @click=${press}>${sign}</button>`
  }

  #panel() {
    const contents = { card: () => this.#card(), layers: () => this.#layers(), routes: () => this.#routes(), check: () => this.#check() }
    const content = this.panel && (this.panel !== 'card' || this.#shows('card')) ? contents[this.panel]() : nothing
    return html`<section class="panel surface" part="panel" ?hidden=${content === nothing}>${content}</section>`
  }

  #card() {
    const { building, unit, groups } = this.#data
    if (!building) return nothing
    const options: CardOptions = {
      texts: this.#texts,
      url: this.url,
      canRoute: this.#shows('routes') && this.#finder.availability.value?.allowed === true,
      onRoute: (end, waypoint) => this.#startRoute(end, waypoint),
      onClose: () => this.#select({}),
    }
    const location = this.#location
    if (location) return locationCard(location, building, options)
    if (unit) return unitCard(unit, building, groups, options)
    return unit === null ? html`<p role="status">${this.#texts.unitNotFound}</p>` : nothing
  }

  #layers() {
    const { groups, legend = [], kinds = new Map<string, number>() } = this.#data
    return layersPanel({
      texts: this.#texts,
      groups,
      color: this.state.color,
      legend,
      chosen: this.entry,
      kinds,
      tags: this.state.tags,
      onColor: (color) => this.change({ color }),
      onEntry: (entry) => (this.entry = entry),
      onTags: (tags) => this.change({ tags }),
    })
  }

  #routes() {
    return routesPanel({
      finder: this.#finder,
      state: this.state,
      texts: this.#texts,
      measure: this.measure,
      floorNames: this.#floorNames,
      index: this.#data.index,
      nameOf: (waypoint) => this.#nameOf(waypoint),
      choosing: this.choosing,
      change: (part) => this.change(part),
      choose: (end) => (this.choosing = end),
      show: (place) => this.#show(place, place.floorId),
    })
  }

  #check() {
    return checksPanel({
      checks: this.#checks,
      texts: this.#texts,
      storeys: this.#shown.storeys,
      onFile: (file) => void this.checkDrawing(file),
      onPlace: (place, floor) => this.#show(place, floor),
      onClose: () => this.#checks.close(),
    })
  }

  #notice() {
    const texts = this.#texts
    const { error, start, isLoading } = this.#data
    if (this.#checks.drawing) return nothing
    if (error) return notice(this.#explain(error), { text: texts.tryAgain, onPress: () => this.#data.retry() })
    if (!this.#api) return notice(texts.noKey)
    if (this.state.map === undefined) return notice(texts.noMap)
    if (isLoading) return notice(texts.loading)
    return notice(start && !start.drawing ? texts.noDrawing : undefined)
  }

  #explain(error: unknown): string {
    const { unreachable, notFound } = this.#texts
    return toMessage(error, { unreachable, notFound })
  }

  get #location() {
    return this.#data.building?.amenities.get(this.state.location ?? '')
  }

  #nameOf({ unit, location }: Waypoint): string | undefined {
    const { building } = this.#data
    return building?.units.get(unit ?? '')?.name ?? building?.amenities.get(location ?? '')?.name
  }

  #overlay() {
    const { storey } = this.#shown
    const { drawing, report } = this.#checks
    const checked = this.panel === 'check' ? (drawing ?? report) : undefined
    const warnings = this.#memo.keep('warnings', [checked, storey], () => (checked ? this.#checks.markersOn(storey) : []))
    const isOther = drawing !== undefined
    const parts = [storey?.id, this.#finder.route.value, this.#finder.reach.value, this.#data.tagged, this.#location, warnings, isOther, this.#texts] as const
    return this.#memo.keep('overlay', parts, () => {
      const [floorId, route, reach, amenities, selected, warnings, , texts] = parts
      const floorName = (id: string) => this.#floorNames.get(id) ?? id
      const own = isOther ? {} : { route, reach, amenities, selected }
      return overlayOf({ floorId, ...own, warnings, texts, floorName })
    })
  }

  #choose({ kind, id, floorId }: Found) {
    if (this.choosing) return this.#setEnd(kind === 'unit' ? { unit: id } : { location: id })
    this.#select(kind === 'unit' ? { unit: id } : { location: id, floor: floorId })
    this.#toShow = kind === 'unit' ? { unit: id } : this.#placeOf(id)
  }

  #placeOf(location: string): Target | undefined {
    const found = this.#data.building?.amenities.get(location)
    return found && { points: [found] }
  }

  #select({ unit, location, floor }: { unit?: string; location?: string; floor?: string | undefined }) {
    const storey = unit === undefined ? floor : this.#shown.storeyOf(unit)?.id
    if (unit === this.state.unit && location === this.state.location) return
    this.change({ unit, location, ...(storey !== undefined && { floor: storey }) })
    const found = this.#data.building?.units.get(unit ?? '')
    this.fire('unitselect', found ? { id: found.id, name: found.name, floorId: found.floor_id } : null)
  }

  #pick({ x, y, unit }: { x: number; y: number; unit?: string }) {
    const named = unit === undefined && this.#shown.namedAt({ x, y }, this.#data.building?.amenities.values() ?? [])
    if (!this.choosing) return this.#select(named ? { location: named.id } : unit === undefined ? {} : { unit })
    if (named) return this.#setEnd({ location: named.id })
    const hasLocation = unit !== undefined && this.#data.building?.locationsOfUnits.has(unit)
    this.#setEnd(hasLocation ? { unit } : { x, y, floor: this.#shown.storey?.id ?? '' })
  }

  #drop(event: DragEvent) {
    const file = event.dataTransfer?.files[0]
    if (!file || !this.#shows('check')) return
    event.preventDefault()
    void this.checkDrawing(file)
  }

  #openMarker(id: string) {
    this.#checks.selected = id
    this.requestUpdate()
    const target = targetOf(id)
    if (!target) return
    if ('floor' in target) this.change(target)
    else if (this.choosing) this.#setEnd(target)
    else this.#select(target)
  }

  #startRoute(end: End, waypoint: Waypoint) {
    this.change({ [end]: waypoint })
    this.panel = 'routes'
  }

  /** Show a route from its start. */
  #showRoute(route: FoundRoute) {
    const { floorId: first } = route.start
    const floor = this.isUntouched ? (this.state.floor ?? first) : first
    const walked = route.legs.filter(({ floor_id }) => floor_id === floor).flatMap(({ points }) => points)
    const start = floor === first ? [route.start] : []
    this.#toShow = { points: [...start, ...walked.map(([x = 0, y = 0]) => ({ x, y }))] }
    this.change({ floor })
    this.fire('routefound', route)
  }

  #setEnd(waypoint: Waypoint) {
    const end = this.choosing!
    this.choosing = undefined
    this.change({ [end]: waypoint })
  }

  /** Leave what is open: first the choice of a place, then the panel. */
  #leave() {
    if (this.choosing) this.choosing = undefined
    else if (this.panel === 'card') this.#select({})
    else this.panel = undefined
  }

  #show(place: Point, floor: string | undefined) {
    this.#toShow = { points: [place] }
    if (floor !== undefined) this.change({ floor })
    this.requestUpdate()
  }

  /** The space that panels and controls leave to the map. */
  #freeSpace(): Padding {
    const whole = this.getBoundingClientRect()
    const panel = this.renderRoot.querySelector('.panel')!.getBoundingClientRect()
    const isSheet = panel.width > whole.width / 2
    return {
      top: 64,
      right: 68,
      bottom: panel.height && isSheet ? panel.height + 12 : 12,
      left: panel.width && !isSheet ? panel.width + 24 : 12,
    }
  }

  /** Fire an event once for each subject, such as a map. */
  #announce<E extends 'ready' | 'failure'>(subject: unknown, type: E, detail: FloorgateMapEvents[E]['detail']) {
    if (this.#announced === subject) return
    this.#announced = subject
    this.fire(type, detail)
  }
}

customElements.define('floorgate-search', SearchField)
customElements.define('floorgate-map', FloorgateMap)

declare global {
  interface HTMLElementTagNameMap {
    'floorgate-map': FloorgateMap
  }
}
