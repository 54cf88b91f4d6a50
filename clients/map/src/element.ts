// <floorgate-map>: a map of a building with search, floors, units, amenities and routes.

import { html, nothing, type PropertyValues, type TemplateResult, unsafeCSS } from 'lit'
import { type Api, connect, type SentRequest, toMessage } from './data/api.js'
import { fillsOf } from './data/attributes.js'
import { type Measure, measureOf } from './data/measures.js'
import type { Found } from './data/search.js'
import { elementStyles } from './element.css.js'
import { Explorer, type Panel } from './explorer.js'
import { Memo } from './memo.js'
import { drawingCheckStyles } from './panels/drawing_check.css.js'
import { floorSwitch } from './panels/floors.js'
import { icons } from './panels/icons.js'
import { notice } from './panels/notice.js'
import { openPanel } from './panels/open_panel.js'
import { routesStyles } from './panels/routes.css.js'
import { SearchField } from './panels/search.js'
import { Sheet } from './panels/sheet.js'
import { controls } from './panels/styles.js'
import { StateElement } from './state_element.js'
import { ENGLISH, fill, type Texts } from './texts.js'
import { type Padding, type Point, viewStyles } from './view/index.js'

const ALL_CONTROLS = 'title search floors zoom layers routes card'
const SCHEMES = { auto: 'light dark', light: 'light', dark: 'dark' }
const ZOOM_STEP = 1.6
const NO_FLOORS: never[] = []
const NO_FILLS: ReadonlyMap<string, string> = new Map()

export class FloorgateMap extends StateElement {
  static override properties = {
    ...StateElement.properties,
    url: {},
    apiKey: { attribute: 'api-key' },
    controls: {},
    measure: {},
    texts: { attribute: false },
  }
  static override styles = [controls, unsafeCSS(viewStyles), elementStyles, routesStyles, drawingCheckStyles]

  /** Address of the service; by default that of the page. */
  declare url: string
  /** An API key that everyone who sees the page may have. */
  declare apiKey: string
  /** Which controls are shown, separated by spaces. */
  declare controls: string
  /** Of lengths; by default as the user's language has it. */
  declare measure: Measure | null
  /** Texts in place of the English ones. */
  declare texts: Partial<Texts>

  #api: Api | undefined
  readonly #explorer = new Explorer(this)
  readonly #memo = new Memo()
  readonly #sheet = new Sheet(this)
  #answered: unknown
  /** What had the focus before an update, and the panel around it. */
  #focused: { element: Element | null; panel: Panel | undefined } = { element: null, panel: undefined }
  #panelShown: Panel | undefined

  constructor() {
    super()
    this.url = location.origin
    this.apiKey = ''
    this.controls = ALL_CONTROLS
    this.measure = null
    this.texts = {}
    this.addEventListener('dragover', (event) => this.#shows('check') && event.preventDefault())
    this.addEventListener('drop', (event) => this.#drop(event))
    this.addEventListener('keydown', ({ key }) => key === 'Escape' && this.#explorer.leave())
  }

  get api(): Api | undefined {
    return this.#api
  }

  /** The texts that are shown. */
  get fullTexts(): Texts {
    return this.#memo.keep('texts', [this.texts], () => ({ ...ENGLISH, ...this.texts }))
  }

  override connectedCallback() {
    super.connectedCallback()
    this.requestUpdate() // draws again after a move in the page
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    this.#explorer.shown.destroy()
  }

  /** Show a drawing as the service reads it, with its warnings; nothing is stored. */
  async checkDrawing(file: Blob) {
    await this.updateComplete
    if (this.#api) await this.#explorer.check(this.#api, file)
  }

  /** Where a position on the map is in the element, in pixels; undefined until the map is drawn. */
  toPixels(position: Point): Point | undefined {
    return this.#explorer.shown.view?.toPixels(position)
  }

  protected override willUpdate(changed: PropertyValues<this>) {
    this.#focused = { element: (this.renderRoot as ShadowRoot | undefined)?.activeElement ?? null, panel: this.#panelShown }
    const { panel, finder } = this.#explorer
    // What is new is shown beside the map.
    if (panel !== this.#panelShown || finder.route.value !== this.#answered) this.#sheet.height = 'half'
    this.#panelShown = panel
    this.#answered = finder.route.value
    if (changed.has('url') || changed.has('apiKey')) this.#connect()
    if (!changed.has('state')) return
    this.#explorer.follow(changed.get('state'))
    this.style.colorScheme = SCHEMES[this.state.theme]
  }

  protected override render() {
    const texts = this.fullTexts
    const explorer = this.#explorer
    const sheet = this.#sheet
    const { data, shown, floorNames } = explorer
    const { storeys, storey, view } = shown
    return html`
      <div class="map" part="map"></div>
      ${this.#notice()}
      <p class="unseen" role="status">${this.#selection()}</p>
      ${this.#title()}
      <div
        class="sheet"
        part="sheet"
        data-height=${explorer.panel ? sheet.height : nothing}
        @pointerdown=${sheet.start}
        @pointermove=${sheet.move}
        @pointerup=${sheet.end}
        @pointercancel=${sheet.end}
        @focusin=${this.#makeRoom}
      >
      ${explorer.panel ? sheet.handle(texts) : nothing}
      <div class="top" part="top">
        <slot name="brand"></slot>
        ${this.#shows('search')
          ? html`<floorgate-search
              class="up"
              .index=${data.index}
              .texts=${texts}
              .floorNames=${floorNames}
              @choose=${({ detail }: CustomEvent<Found>) => this.#explorer.choose(detail)}
              @results=${({ detail: results }: CustomEvent<ReadonlySet<string>>) => this.#explorer.set({ results })}
            ></floorgate-search>`
          : nothing}
        ${this.#canRoute ? this.#opener('routes', texts.routes, icons.route) : nothing}
        ${this.#shows('check') && this.#api ? this.#opener('check', texts.check, icons.check) : nothing}
        ${this.#shows('layers') && data.building ? this.#opener('layers', texts.layers, icons.layers) : nothing}
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
              <button aria-label=${texts.showAll} @click=${() => this.#showAll()}>${icons.whole}</button>
            </div>`
          : nothing}
      </div>
      </div>
      <div class="attribution"><slot name="attribution"></slot></div>
    `
  }

  protected override updated(changed: PropertyValues<this>) {
    this.#draw(changed)
    this.#keepFocus()
  }

  #draw(changed: PropertyValues<this>) {
    const { data, checks, shown, entry, results, overlay, toShow } = this.#explorer
    const { start, building, legend, error } = data
    if (error) this.#explorer.announce(error, 'failure', { error, message: toMessage(error, this.fullTexts) })
    const checked = checks.drawing
    const drawing = checked?.parsed ?? start?.drawing
    if (!drawing) return shown.destroy()
    const before = shown.storey
    shown.show(this.renderRoot.querySelector<HTMLElement>('.map')!, {
      label: checked ? this.fullTexts.mapOfDrawing : fill(this.fullTexts.mapOf, { name: start!.map.name }),
      drawing,
      floors: checked ? NO_FLOORS : start!.floors,
      floor: this.state.floor,
      unit: this.state.unit,
      fills: this.#memo.keep('fills', [legend], () => (legend ? fillsOf(legend) : NO_FILLS)),
      labels: this.#memo.keep('labels', [building], () => new Map([...(building?.units.values() ?? [])].map(({ id, name }) => [id, name]))),
      amenities: checked ? NO_FLOORS : this.#memo.keep('amenities', [building], () => [...(building?.amenities.values() ?? [])]),
      dimmed: results ?? legend?.find(({ id }) => id === entry)?.units,
    })
    if (checked) this.#explorer.compareUnits()
    shown.cover(overlay)
    if (!checked) this.#explorer.showHere()
    this.#memo.keep('covered', [shown.view, this.#explorer.panel, this.#sheet.height], () => shown.view?.cover(this.#freeSpace()))
    if (changed.has('state') && changed.get('state')?.theme !== this.state.theme) shown.view?.refreshColors()
    if (toShow && shown.aim(toShow, building, this.#freeSpace()) && !this.#explorer.isCardGrowing) this.#explorer.toShow = undefined
    if (before !== shown.storey) this.requestUpdate() // the switch of floors shows it
  }

  /** Where the focus was may be gone: it goes on in the panel, else where that was opened, else on the map. */
  #keepFocus() {
    const { element, panel } = this.#focused
    if (!element || element.checkVisibility()) return
    const isOnMap = element.matches('.marker')
    const places = [...(isOnMap ? [] : ['.panel:not([hidden])', `[data-panel='${panel}']`]), '.floorgate-view']
    const [place] = places.flatMap((each) => this.renderRoot.querySelector<HTMLElement>(each) ?? [])
    place?.focus({ preventScroll: true })
  }

  /** What is selected, for screen readers: the focus may be elsewhere. */
  #selection() {
    const name = this.#explorer.panel === 'card' ? this.#explorer.nameOf(this.state) : undefined
    return name === undefined ? nothing : fill(this.fullTexts.selected, { name })
  }

  #connect() {
    const tell = (request: SentRequest) => this.fire('request', request)
    this.#api = this.apiKey ? connect(this.url, this.apiKey, tell) : undefined
  }

  #shows(control: string): boolean {
    return this.controls.split(/\s+/).includes(control)
  }

  get #canRoute(): boolean {
    return this.#shows('routes') && this.#explorer.finder.availability.value?.allowed === true
  }

  #opener(panel: Panel, name: string, sign: TemplateResult) {
    const isOpen = this.#explorer.panel === panel
    const press = () => this.#explorer.open(isOpen ? undefined : panel)
    return html`<button class="icon" data-panel=${panel} aria-label=${name} title=${name} aria-pressed=${isOpen} @click=${press}>${sign}</button>`
  }

  #panel() {
    const explorer = this.#explorer
    if (explorer.panel === 'card' && !this.#shows('card')) return nothing
    return openPanel({
      explorer,
      state: this.state,
      texts: this.fullTexts,
      measure: measureOf(navigator.language, this.measure),
      url: this.#api?.url ?? '',
      canRoute: this.#canRoute,
      change: (part) => this.change(part),
      onFile: (file) => void this.checkDrawing(file),
    })
  }

  /** The building and the floor that are shown. */
  #title() {
    const { data, checks, shown, floorNames } = this.#explorer
    if (!data.start || checks.drawing || !this.#shows('title')) return nothing
    const { storey } = shown
    return html`<p class="title surface" part="title">
      <strong>${data.start.assetName}</strong> ${storey ? html`<span>${floorNames.get(storey.id) ?? storey.name}</span>` : nothing}
    </p>`
  }

  /** On a phone, the list of what a search finds takes the whole sheet. */
  #makeRoom = ({ target }: FocusEvent) => {
    if ((target as Element).matches('.panel floorgate-search')) this.#sheet.set('full')
  }

  #notice() {
    const texts = this.fullTexts
    const { data, checks } = this.#explorer
    const { error, start, isLoading } = data
    if (checks.drawing) return nothing
    if (error) return notice(toMessage(error, texts), { text: texts.tryAgain, onPress: () => data.retry() })
    if (!this.#api) return notice(texts.noKey)
    if (this.state.map === undefined) return notice(texts.noMap)
    if (isLoading) return notice(texts.loading)
    return notice(start && !start.drawing ? texts.noDrawing : undefined)
  }

  #drop(event: DragEvent) {
    const file = event.dataTransfer?.files[0]
    if (!file || !this.#shows('check')) return
    event.preventDefault()
    void this.checkDrawing(file)
  }

  #showAll() {
    this.#explorer.shown.view?.fit(undefined, { animate: true, padding: this.#freeSpace() })
  }

  /** The space that panels and controls take from the map. */
  #freeSpace(): Padding {
    const panel = this.renderRoot.querySelector('.panel')?.getBoundingClientRect()
    const sheet = this.renderRoot.querySelector('.sheet')?.getBoundingClientRect()
    // On a desk, the sheet has no box of its own.
    if (sheet?.height) {
      // In full height, it shows what is seen beside half of it.
      const pixels = panel?.height ? Math.min(this.#sheet.pixels(), this.#sheet.pixels('half')) : sheet.height
      return { top: 56, right: 68, bottom: pixels + 12, left: 12 }
    }
    return { top: 64, right: 68, bottom: 12, left: panel?.width ? panel.width + 24 : 12 }
  }
}

customElements.define('floorgate-search', SearchField)
customElements.define('floorgate-map', FloorgateMap)

declare global {
  interface HTMLElementTagNameMap {
    'floorgate-map': FloorgateMap
  }
}
