// Checks for people who draw: a drawing before it is imported, and what is wrong with a processed plan.

import { Task } from '@lit/task'
import { type Api, toMessage } from './data/api.js'
import type { Building } from './data/building.js'
import { checkDrawing, type DrawingCheck, RejectedDrawing, warningMarkers, withUnknownUnits } from './data/drawing_check.js'
import type { DataHost } from './data/map_data.js'
import { problemMarkers, readRoutingReport } from './data/plan_problems.js'
import type { Storey } from './data/storeys.js'
import { fill, type Texts } from './texts.js'
import type { MapView, Marker } from './view/index.js'

export class Checks {
  /** The drawing that is shown in place of the map. */
  drawing: DrawingCheck | undefined
  rejected: RejectedDrawing | undefined
  isReading = false
  /** The marker that was pressed last. */
  selected: string | undefined
  readonly #report
  #compared: DrawingCheck | undefined

  /** The report of the plan is read while `isOpen`. */
  constructor(
    private readonly host: DataHost,
    isOpen: () => boolean,
  ) {
    this.#report = new Task(host, {
      args: () => [host.api, isOpen() ? host.state.map : undefined] as const,
      task: ([api, map], { signal }) => (api && map !== undefined ? readRoutingReport(api, map, signal) : null),
    })
  }

  /** What is wrong with the floor plan of the map; null if it was not processed. */
  get report() {
    return this.#report.value ?? null
  }

  /** Read a file as the service does, and show it. Nothing is stored. */
  async open(api: Api, file: Blob, texts: Texts): Promise<void> {
    this.close()
    this.isReading = true
    this.host.requestUpdate()
    try {
      this.drawing = await checkDrawing(api, await file.text())
    } catch (error) {
      this.rejected = error instanceof RejectedDrawing ? error : new RejectedDrawing(toMessage(error, texts))
    }
    this.isReading = false
    this.host.requestUpdate()
  }

  /** Add the units of the drawing that the map of the building does not have, which `view` shows. */
  compare({ map, units }: Building, view: MapView, texts: Texts): void {
    if (!this.drawing || this.drawing === this.#compared) return
    const message = fill(texts.unknownUnits, { map: map.name })
    const words = { message, remedy: texts.unknownUnitsRemedy }
    this.drawing = this.#compared = withUnknownUnits(this.drawing, units, (unit) => view.boxOf(unit), words)
    this.host.requestUpdate()
  }

  close(): void {
    this.drawing = undefined
    this.rejected = undefined
    this.selected = undefined
    this.host.requestUpdate()
  }

  /** The markers of what is wrong on a storey. */
  markersOn(storey: Storey | undefined): Marker[] {
    if (!storey) return []
    if (this.drawing) return warningMarkers(this.drawing, storey.level)
    return this.report ? problemMarkers(this.report, storey.id) : []
  }
}
