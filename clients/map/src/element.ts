// <floorgate-map>: a map of a building with search, floors, units, amenities and routes.

import { html, LitElement, nothing, type PropertyValues, unsafeCSS } from 'lit'
import { type Api, connect, toMessage } from './data/api.js'
import { fillsOf } from './data/attributes.js'
import type { Location } from './data/building.js'
import { MapData } from './data/map_data.js'
import type { Found } from './data/search.js'
import { elementStyles } from './element.css.js'
import { readLink } from './links.js'
import { type CardOptions, locationCard, unitCard } from './panels/card.js'
import { floorSwitch } from './panels/floors.js'
import { layersPanel } from './panels/layers.js'
import { SearchField } from './panels/search.js'
import { controls } from './panels/styles.js'
import { ShownMap } from './shown_map.js'
import { type ExplorerState, INITIAL_STATE, type Waypoint } from './state.js'
import { ENGLISH, fill, type Texts } from './texts.js'
import { type Overlay, viewStyles } from './view/index.js'

/** Attributes that are a part of the state, written as in links. */
const STATE_ATTRIBUTES = [
  'map', 'floor', 'unit', 'location', 'from', 'to', 'mode', 'avoid', 'minutes', 'tags', 'color', 'theme',
] as const satisfies (keyof ExplorerState)[]
const ALL_CONTROLS = 'search floors zoom layers routes card'
const SCHEMES = { auto: 'light dark', light: 'light', dark: 'dark' }
const ZOOM_STEP = 1.6
const NO_FILLS: ReadonlyMap<string, string> = new Map()
const NOTHING_OVER: Overlay = { areas: [], lines: [], markers: [] }

type Panel = 'card' | 'layers' | 'routes'

/** The events of the element, by name. */
export interface FloorgateMapEvents {
  /** The map is drawn. */
  ready: CustomEvent<{ map: string }>
  /** The user has changed what is shown. */
  statechange: CustomEvent<ExplorerState>
  /** The user has selected a unit; null when it is no longer selected. */
  unitselect: CustomEvent<{ id: string; name: string; floorId: string } | null>
  /** The map cannot be shown. */
  failure: CustomEvent<{ error: unknown; message: string }>
}

// Each part of the state is a property too, which takes a value of the state or text as in links.
export interface FloorgateMap extends ExplorerState {}

export class FloorgateMap extends LitElement {
  static override properties = {
    url: {},
    apiKey: { attribute: 'api-key' },
    controls: {},
    state: { attribute: false },
    texts: { attribute: false },
    panel: { state: true },
    entry: { state: true },
    results: { state: true },
  }
  static override styles = [controls, elementStyles, unsafeCSS(viewStyles)]

  static override get observedAttributes() {
    return [...super.observedAttributes, ...STATE_ATTRIBUTES]
  }

  /** Address of the service; by default that of the page. */
  declare url: string
  /** An API key that everyone who sees the page may have. */
  declare apiKey: string
  /** Which controls are shown, separated by spaces. */
  declare controls: string
  /** What is shown; set it to show something else. */
  declare state: ExplorerState
  /** Texts in place of the English ones. */
  declare texts: Partial<Texts>

  /** The panel that is open. */
  declare panel: Panel | undefined
  /** The entry of the legend that units are shown of. */
  declare entry: string | undefined
  /** The units that the search finds. */
  declare results: ReadonlySet<string> | undefined

  #api: Api | undefined
  #announced: unknown
  #memo = new Map<string, { inputs: unknown[]; value: unknown }>()
  readonly #data = new MapData(this)
  readonly #shown = new ShownMap({
    pick: ({ unit }) => this.#select({ unit }),
    marker: ({ id }) => this.#openMarker(id),
    drawn: () => this.#announce(this.#data.start, 'ready', { map: this.state.map }),
  })
  readonly #scheme = matchMedia('(prefers-color-scheme: dark)')
  readonly #followScheme = () => this.#shown.view?.refreshColors()

  constructor() {
    super()
    this.url = location.origin
    this.apiKey = ''
    this.controls = ALL_CONTROLS
    this.state = INITIAL_STATE
    this.texts = {}
  }

  get api(): Api | undefined {
    return this.#api
  }

  override attributeChangedCallback(name: string, old: string | null, value: string | null) {
    super.attributeChangedCallback(name, old, value)
    const part = STATE_ATTRIBUTES.find((each) => each === name)
    if (part) this[part] = value as never
  }

  override connectedCallback() {
    super.connectedCallback()
    this.#scheme.addEventListener('change', this.#followScheme)
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    this.#scheme.removeEventListener('change', this.#followScheme)
    this.#shown.destroy()
  }

  /** Change a part of what is shown, as a user does. Fires `statechange`. */
  change(part: Partial<ExplorerState>) {
    this.state = { ...this.state, ...part }
    this.#fire('statechange', this.state)
  }

  protected override willUpdate(changed: PropertyValues<this>) {
    if (changed.has('url') || changed.has('apiKey')) this.#api = this.apiKey ? connect(this.url, this.apiKey) : undefined
    if (changed.has('state')) {
      const last = changed.get('state')
      if (last?.color !== this.state.color) this.entry = undefined
      if (last?.theme !== this.state.theme) this.style.colorScheme = SCHEMES[this.state.theme]
      const isSelected = this.state.unit ?? this.state.location
      if (isSelected !== (last?.unit ?? last?.location)) this.panel = isSelected === undefined ? undefined : 'card'
    }
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
              .floorNames=${this.#floorNames()}
              @choose=${({ detail }: CustomEvent<Found>) => this.#choose(detail)}
              @results=${({ detail }: CustomEvent<ReadonlySet<string>>) => (this.results = detail)}
            ></floorgate-search>`
          : nothing}
        ${this.#shows('layers') && this.#data.building ? this.#opener('layers', texts.layers, '◧') : nothing}
      </div>
      ${this.#panel()}
      <div class="right">
        ${this.#shows('floors') && storeys.length > 1
          ? floorSwitch(storeys, storey?.id ?? '', texts, (floor) => this.change({ floor }))
          : nothing}
        ${this.#shows('zoom') && view
          ? html`<div class="zoom surface" part="zoom">
              <button aria-label=${texts.zoomIn} @click=${() => view.zoomBy(ZOOM_STEP)}>+</button>
              <button aria-label=${texts.zoomOut} @click=${() => view.zoomBy(1 / ZOOM_STEP)}>−</button>
              <button aria-label=${texts.showAll} @click=${() => view.fit()}>⤢</button>
            </div>`
          : nothing}
      </div>
      <div class="attribution"><slot name="attribution"></slot></div>
    `
  }

  protected override updated(changed: PropertyValues<this>) {
    const { start, building, legend, error } = this.#data
    if (error) this.#announce(error, 'failure', { error, message: this.#explain(error) })
    if (!start?.drawing) return
    const host = this.renderRoot.querySelector<HTMLElement>('.map')!
    const before = this.#shown.storey
    const { unit, floor } = this.state
    this.#shown.show(host, {
      label: fill(this.#texts.mapOf, { name: start.map.name }),
      drawing: start.drawing,
      floors: start.floors,
      floor,
      unit,
      fills: this.#keep('fills', [legend], () => (legend ? fillsOf(legend) : NO_FILLS)),
      labels: this.#keep('labels', [building], () => new Map([...(building?.units.values() ?? [])].map(({ id, name }) => [id, name]))),
      dimmed: this.results ?? legend?.find(({ id }) => id === this.entry)?.units,
      overlay: this.#overlay(),
    })
    if (changed.get('state')?.theme !== this.state.theme) this.#shown.view?.refreshColors()
    if (before !== this.#shown.storey) this.requestUpdate() // the switch of floors shows it
  }

  get #texts(): Texts {
    return this.#keep('texts', [this.texts], () => ({ ...ENGLISH, ...this.texts }))
  }

  #shows(control: string): boolean {
    return this.controls.split(/\s+/).includes(control)
  }

  #opener(panel: Panel, name: string, sign: string) {
    const isOpen = this.panel === panel
    return html`<button
      class="icon"
      aria-label=${name}
      title=${name}
      aria-pressed=${isOpen}
      @click=${() => (this.panel = isOpen ? undefined : panel)}
    >
      ${sign}
    </button>`
  }

  #panel() {
    const content = { card: () => this.#card(), layers: () => this.#layers(), routes: () => nothing }
    const shown = this.panel && (this.panel !== 'card' || this.#shows('card')) ? content[this.panel]() : nothing
    return html`<section class="panel surface" part="panel" ?hidden=${shown === nothing}>${shown}</section>`
  }

  #card() {
    const { building, unit, groups } = this.#data
    if (!building) return nothing
    const options: CardOptions = {
      texts: this.#texts,
      url: this.url,
      canRoute: this.#shows('routes'),
      onRoute: (end, waypoint) => this.#startRoute(end, waypoint),
      onClose: () => this.#select({}),
    }
    const location = building.amenities.get(this.state.location ?? '')
    if (location) return locationCard(location, building, options)
    if (unit) return unitCard(unit, building, groups, options)
    return unit === null ? html`<p role="status">${this.#texts.unitNotFound}</p>` : nothing
  }

  #layers() {
    const { groups, legend, kinds } = this.#data
    const { color, tags } = this.state
    return layersPanel({
      texts: this.#texts,
      groups,
      color,
      legend: legend ?? [],
      chosen: this.entry,
      kinds: kinds ?? new Map(),
      tags,
      onColor: (color) => this.change({ color }),
      onEntry: (entry) => (this.entry = entry),
      onTags: (tags) => this.change({ tags }),
    })
  }

  #notice() {
    const texts = this.#texts
    const { error, start, isLoading } = this.#data
    if (error)
      return html`<div class="notice" role="alert">
        <span>${this.#explain(error)}</span><button @click=${() => this.#data.retry()}>${texts.tryAgain}</button>
      </div>`
    const text = !this.#api ? texts.noKey
      : this.state.map === undefined ? texts.noMap
      : isLoading ? texts.loading
      : start && !start.drawing ? texts.noDrawing
      : undefined
    return text ? html`<p class="notice" role="status">${text}</p>` : nothing
  }

  #explain(error: unknown): string {
    const { unreachable, notFound } = this.#texts
    return toMessage(error, { unreachable, notFound })
  }

  #floorNames() {
    const { building } = this.#data
    return this.#keep('floors', [building], () => new Map(building?.floors.map(({ id, name }) => [id, name])))
  }

  #overlay(): Overlay {
    const { tagged } = this.#data
    const { storey } = this.#shown
    return this.#keep('overlay', [tagged, storey], () => ({
      ...NOTHING_OVER,
      markers: (tagged ?? []).filter(({ floors }) => floors.some(({ id }) => id === storey?.id)).map(amenityMarker),
    }))
  }

  #choose({ kind, id, floorId }: Found) {
    if (kind === 'unit') this.#select({ unit: id })
    else this.#select({ location: id, floor: floorId })
    const box = kind === 'unit' ? this.#shown.view?.boxOf(id)?.box : undefined
    void this.updateComplete.then(() => this.#shown.view?.fit(box, { animate: true }))
  }

  #select({ unit, location, floor }: { unit?: string; location?: string; floor?: string }) {
    const storey = unit === undefined ? floor : this.#shown.storeyOf(unit)?.id
    if (unit === this.state.unit && location === this.state.location) return
    this.change({ unit, location, ...(storey !== undefined && { floor: storey }) })
    const found = this.#data.building?.units.get(unit ?? '')
    this.#fire('unitselect', found ? { id: found.id, name: found.name, floorId: found.floor_id } : null)
  }

  #openMarker(id: string) {
    const [kind, ...rest] = id.split(':')
    const value = rest.join(':')
    if (kind === 'amenity') this.#select({ location: value })
    if (kind === 'floor') this.change({ floor: value })
  }

  #startRoute(end: 'from' | 'to', waypoint: Waypoint) {
    this.change({ [end]: waypoint })
    this.panel = 'routes'
  }

  /** Return the value made from the same inputs before, so that the picture sees that nothing has changed. */
  #keep<T>(name: string, inputs: unknown[], make: () => T): T {
    const kept = this.#memo.get(name)
    if (kept?.inputs.every((input, index) => input === inputs[index])) return kept.value as T
    const value = make()
    this.#memo.set(name, { inputs, value })
    return value
  }

  /** Fire an event once for each subject, such as a map. */
  #announce(subject: unknown, type: keyof FloorgateMapEvents, detail: unknown) {
    if (this.#announced === subject) return
    this.#announced = subject
    this.#fire(type, detail)
  }

  #fire(type: keyof FloorgateMapEvents, detail: unknown) {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }))
  }
}

function amenityMarker({ id, name, x, y }: Location) {
  return { id: `amenity:${id}`, x, y, kind: 'amenity' as const, text: name.charAt(0), label: name }
}

for (const part of STATE_ATTRIBUTES) {
  Object.defineProperty(FloorgateMap.prototype, part, {
    get(this: FloorgateMap) {
      return this.state[part]
    },
    set(this: FloorgateMap, value: unknown) {
      const given = typeof value === 'string' ? readLink(String(new URLSearchParams({ [part]: value })))[part] : value
      this.state = { ...this.state, [part]: given ?? INITIAL_STATE[part] }
    },
  })
}

customElements.define('floorgate-search', SearchField)
customElements.define('floorgate-map', FloorgateMap)

declare global {
  interface HTMLElementTagNameMap {
    'floorgate-map': FloorgateMap
  }
}
