// Keeps the picture as the state and the data say, and changes only what has changed.

import type { Floor, ParsedMap } from './data/building.js'
import { type Storey, storeysOf } from './data/storeys.js'
import { MapView, type Overlay, type ViewEvents } from './view/index.js'

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
  dimmed: ReadonlySet<string> | undefined
  overlay: Overlay
}

type Listeners = { [E in keyof ViewEvents]?: (detail: ViewEvents[E]) => void }

export class ShownMap {
  storeys: readonly Storey[] = []
  #view: MapView | undefined
  #last: Partial<Shown> = {}

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
    if (next.dimmed !== last.dimmed) view.setDimmed(next.dimmed)
    if (isNew || next.unit !== last.unit) view.select(next.unit)
    if (next.overlay !== last.overlay) view.setOverlay(next.overlay)
  }

  /** Bring a unit into sight, on its storey. Returns the id of the storey, if the drawing has the unit. */
  storeyOf(unit: string): Storey | undefined {
    const found = this.#view?.boxOf(unit)
    return found && this.storeys.find(({ level }) => level === found.level)
  }

  destroy(): void {
    this.#view?.destroy()
    this.#view = undefined
    this.#last = {}
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
