// The panel for people who draw: a file to check, its warnings, and the problems of the plan of the map.

import { html, nothing } from 'lit'
import type { Checks } from '../checks.js'
import type { Storey } from '../data/storeys.js'
import type { Texts } from '../texts.js'
import type { Point } from '../view/index.js'
import { drawingCheckPanel, planProblemsPanel, rejectedDrawing } from './drawing_check.js'

export interface ChecksView {
  checks: Checks
  texts: Texts
  storeys: readonly Storey[]
  onFile(file: File): void
  /** Show a place on the storey with this id. */
  onPlace(place: Point, storey: string | undefined): void
  onClose(): void
}

export function checksPanel({ checks, texts, storeys, onFile, onPlace, onClose }: ChecksView) {
  const { drawing, rejected, report, isReading, selected } = checks
  const choose = ({ target }: Event) => {
    const [file] = (target as HTMLInputElement).files ?? []
    if (file) onFile(file)
  }
  const press = (id: string, place: Point, storey: string | undefined) => {
    checks.selected = id
    onPlace(place, storey)
  }
  return html`
    <label class="file">${texts.checkDrawing}<input type="file" accept=".svg,image/svg+xml" @change=${choose} /></label>
    <p role="status">${isReading ? texts.readingDrawing : nothing}</p>
    ${rejected ? rejectedDrawing(rejected, texts) : nothing}
    ${drawing || rejected ? html`<button @click=${onClose}>${texts.closeDrawing}</button>` : nothing}
    ${drawing
      ? drawingCheckPanel({
          check: drawing,
          texts,
          selected,
          onPlace: ({ id, place, storey }) => press(id, { x: place.x!, y: place.y! }, storeys.find(({ level }) => level === storey)?.id),
        })
      : report
        ? planProblemsPanel({
            report,
            texts,
            selected,
            floorName: (floor) => storeys.find(({ id }) => id === floor)?.name ?? floor,
            onProblem: press,
          })
        : nothing}
  `
}
