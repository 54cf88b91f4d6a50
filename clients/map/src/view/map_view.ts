// The picture of a map: drawn from its parsed JSON, with pan, zoom, picking and overlays.

import { type Colors, readColors } from './colors.js'
import { type CompiledLevel, compileLevel } from './compile.js'
import { Markers } from './markers.js'
import { Navigation } from './navigation.js'
import { Shapes } from './overlay.js'
import { type ParsedMap, type Storey, storeysOf } from './parsed.js'
import { type Frame, Pictures } from './pictures.js'
import type { Box, Level, NamedPlace, Overlay, Padding, Point, ViewEvents } from './types.js'

type Listeners = { [K in keyof ViewEvents]: Set<(detail: ViewEvents[K]) => void> }

export class MapView {
  readonly #stage: HTMLElement
  readonly #pictures: Pictures
  readonly #shapes: Shapes
  readonly #markers: Markers
  readonly #navigation: Navigation
  readonly #resizes: ResizeObserver
  readonly #dark = window.matchMedia('(prefers-color-scheme: dark)')
  readonly #listeners: Listeners = {
    pick: new Set(), hover: new Set(), marker: new Set(), move: new Set(), drawn: new Set(),
  }
  #colors: Colors
  #frame: Frame = { width: 0, height: 0 }
  #page: Box = { x: 0, y: 0, width: 0, height: 0 }
  #storeys: Storey[] = []
  #compiled: (CompiledLevel | undefined)[] = []
  #levels: Level[] = []
  #level = 0
  #fills: ReadonlyMap<string, string> = new Map()
  #labels: ReadonlyMap<string, string> = new Map()
  #places: readonly NamedPlace[] = []
  #lit: ReadonlySet<string> | undefined
  #selected: string | undefined
  #hovered: string | undefined
  #pointed: string | undefined
  #frameRequest = 0
  #hasMoved = false

  /** Fill `host`, which is positioned, with the picture. `label` names it for screen readers. */
  constructor(host: HTMLElement, { label }: { label: string }) {
    const stage = document.createElement('div')
    stage.className = 'floorgate-view'
    stage.tabIndex = 0
    // only so do arrows, + and - reach the view while a screen reader is on
    stage.role = 'application'
    stage.ariaLabel = label
    this.#stage = host.appendChild(stage)
    this.#pictures = new Pictures(stage, () => this.#emit('drawn', {}))
    this.#shapes = new Shapes(stage)
    this.#markers = new Markers(stage, (id) => this.#emit('marker', { id }))
    this.#navigation = new Navigation(stage, () => this.#move())
    this.#colors = readColors(stage)
    stage.addEventListener('click', this.#click)
    stage.addEventListener('pointermove', this.#point)
    stage.addEventListener('pointerleave', this.#leave)
    this.#dark.addEventListener('change', this.#recolor)
    this.#resizes = new ResizeObserver(() => this.#resize())
    this.#resizes.observe(stage)
  }

  /** Show a map: the body of `GET /v1/maps/{map}/parsed`. */
  setDrawing(parsed: ParsedMap): void {
    this.#page = { x: 0, y: 0, width: parsed.width, height: parsed.height }
    this.#storeys = storeysOf(parsed)
    this.#compiled = []
    this.#levels = this.#storeys.map(({ id, tags }, index) => ({ index, id, tags, box: this.#page }))
    this.#level = 0
    this.#pointAt(undefined)
    this.#markers.set([])
    this.#shapes.setOverlay({ areas: [], lines: [] })
    this.#showContent(true)
    this.fit()
  }

  get levels(): readonly Level[] {
    return this.#levels
  }

  get level(): number {
    return this.#level
  }

  /** The box of the drawing that is in view. */
  get visible(): Box {
    return this.#navigation.visible
  }

  /** Show another level, at the same place; the overlay stays until another is set. */
  showLevel(index: number): void {
    if (index === this.#level || !this.#levels[index]) return
    this.#level = index
    this.#pointAt(undefined)
    this.#showContent(true)
  }

  /** Colour units: the id of a unit to a CSS colour. */
  setFills(fills: ReadonlyMap<string, string>): void {
    this.#fills = fills
    this.#showContent()
  }

  /** Name units: the id of a unit to a text, which is drawn where it fits. */
  setLabels(labels: ReadonlyMap<string, string>): void {
    this.#labels = labels
    this.#showContent()
  }

  /** Name places that are no unit, such as amenities: drawn where no other name is. */
  setPlaces(places: readonly NamedPlace[]): void {
    this.#places = places
    this.#showContent()
  }

  /** Draw all other units paler; undefined draws all as they are. */
  setDimmed(units: ReadonlySet<string> | undefined): void {
    this.#lit = units
    this.#showContent()
  }

  select(unit: string | undefined): void {
    this.#selected = unit
    this.#showUnits()
  }

  hoverUnit(unit: string | undefined): void {
    this.#hovered = unit
    this.#showUnits()
  }

  /** Show areas, lines and markers, which are all of the level shown. */
  setOverlay(overlay: Overlay): void {
    this.#shapes.setOverlay(overlay)
    this.#markers.set(overlay.markers)
    this.#move()
  }

  /** Where a unit is: on the level shown, else on the first that has it. */
  boxOf(unit: string): { level: number; box: Box } | undefined {
    for (const level of [this.#level, ...this.#levels.keys()]) {
      const box = this.#compile(level)?.boxes.get(unit)
      if (box) return { level, box }
    }
    return undefined
  }

  /** Show a box, or the page of the level, inside the padding (in pixels). */
  fit(box?: Box, { animate = false, padding }: { animate?: boolean; padding?: Partial<Padding> } = {}): void {
    const around = padding && { top: 0, right: 0, bottom: 0, left: 0, ...padding }
    this.#navigation.fit(box, animate, around)
  }

  /** Tell what is over the view (in pixels): what is in the middle above it stays there. */
  cover(padding: Padding): void {
    this.#navigation.cover(padding)
  }

  zoomBy(factor: number): void {
    this.#navigation.zoomBy(factor)
  }

  /** Move the view over the drawing, by pixels to the right and down. */
  panBy(dx: number, dy: number): void {
    this.#navigation.panBy(dx, dy)
  }

  /** Where a point of the drawing is in the host, in pixels. */
  toPixels({ x, y }: Point): Point {
    const transform = this.#navigation.transform
    return { x: transform.applyX(x), y: transform.applyY(y) }
  }

  /** Listen to an event; returns what ends it. */
  on<K extends keyof ViewEvents>(event: K, listener: (detail: ViewEvents[K]) => void): () => void {
    this.#listeners[event].add(listener)
    return () => this.#listeners[event].delete(listener)
  }

  /** Read the colours of the CSS anew, such as after a change of the theme. */
  refreshColors(): void {
    this.#colors = readColors(this.#stage)
    this.#showContent()
  }

  destroy(): void {
    cancelAnimationFrame(this.#frameRequest)
    this.#resizes.disconnect()
    this.#dark.removeEventListener('change', this.#recolor)
    this.#navigation.destroy()
    this.#stage.remove()
    for (const listeners of Object.values(this.#listeners)) listeners.clear()
  }

  #emit<K extends keyof ViewEvents>(event: K, detail: ViewEvents[K]): void {
    for (const listener of this.#listeners[event]) listener(detail)
  }

  #compile(level: number): CompiledLevel | undefined {
    const storey = this.#storeys[level]
    if (!storey) return undefined
    return (this.#compiled[level] ??= compileLevel(storey, this.#page))
  }

  #showContent(atOnce = false): void {
    const level = this.#compile(this.#level)
    if (!level) return
    this.#pictures.setContent(
      {
        level,
        colors: this.#colors,
        fills: this.#fills,
        labels: this.#labels,
        places: this.#places.filter((place) => place.level === this.#level),
        lit: this.#lit,
      },
      this.#page,
      atOnce,
    )
    if (atOnce) {
      this.#setPage()
      this.#showUnits()
    }
    this.#requestFrame()
  }

  #setPage(): void {
    const boxes = [...(this.#compile(this.#level)?.boxes.values() ?? [])]
    const smallest = boxes.reduce<Box | undefined>(
      (least, box) => (!least || Math.max(box.width, box.height) < Math.max(least.width, least.height) ? box : least),
      undefined,
    )
    this.#navigation.setPage(this.#page, smallest)
  }

  #showUnits(): void {
    const targets = this.#compile(this.#level)?.targets
    const of = (unit: string | undefined) => (unit === undefined ? undefined : targets?.get(unit)) ?? []
    const hovered = this.#hovered === this.#selected ? undefined : this.#hovered
    this.#shapes.setUnits(of(hovered), of(this.#selected))
  }

  #resize(): void {
    const { width, height } = this.#stage.getBoundingClientRect()
    if (width === this.#frame.width && height === this.#frame.height) return
    this.#frame = { width, height }
    this.#navigation.resize(this.#frame)
    this.#requestFrame()
  }

  #move(): void {
    this.#hasMoved = true
    this.#pictures.expectMore()
    this.#requestFrame()
  }

  #requestFrame(): void {
    this.#frameRequest ||= requestAnimationFrame(() => {
      this.#frameRequest = 0
      this.#showFrame()
    })
  }

  #showFrame(): void {
    const { transform, moving } = this.#navigation
    if (this.#hasMoved) {
      this.#shapes.move(transform)
      this.#markers.move(transform, this.#frame, moving)
      this.#hasMoved = false
      this.#emit('move', {})
    }
    if (this.#pictures.update(transform, this.#frame, moving)) this.#requestFrame()
  }

  #unitAt(event: MouseEvent): { x: number; y: number; unit?: string } {
    const { left, top } = this.#stage.getBoundingClientRect()
    const [x, y] = this.#navigation.transform.invert([event.clientX - left, event.clientY - top])
    const unit = this.#compile(this.#level)?.pick({ x, y })
    return { x, y, ...(unit !== undefined && { unit }) }
  }

  #click = (event: MouseEvent): void => {
    if (!isMarker(event)) this.#emit('pick', this.#unitAt(event))
  }

  #point = (event: PointerEvent): void => {
    if (event.pointerType === 'touch' || event.buttons) return
    this.#pointAt(isMarker(event) ? undefined : this.#unitAt(event).unit)
  }

  #leave = (): void => this.#pointAt(undefined)

  #pointAt(unit: string | undefined): void {
    if (unit === this.#pointed) return
    this.#pointed = unit
    this.#stage.classList.toggle('over-unit', unit !== undefined)
    this.hoverUnit(unit)
    this.#emit('hover', unit === undefined ? {} : { unit })
  }

  #recolor = (): void => this.refreshColors()
}

function isMarker({ target }: Event): boolean {
  return (target as Element).closest('.marker') !== null
}
