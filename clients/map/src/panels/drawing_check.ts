// Warnings of a drawing, and problems of a floor plan: causes with what to do, and their places.

import { html, nothing, type TemplateResult } from 'lit'
import {
  describePlace,
  type DrawingCheck,
  type LocatedPlace,
  locatePlaces,
  type RejectedDrawing,
  sortWarnings,
} from '../data/drawing_check.js'
import { type PlanProblem, positionOf, type RoutingReport } from '../data/plan_problems.js'
import { fill, type Texts } from '../texts.js'

export interface DrawingCheckView {
  check: DrawingCheck
  texts: Texts
  /** The marker that is pressed or chosen. */
  selected?: string | undefined
  /** Show a place on the map. */
  onPlace(place: LocatedPlace): void
}

export function drawingCheckPanel({ check, texts, selected, onPlace }: DrawingCheckView): TemplateResult {
  const places = locatePlaces(check)
  const causes = sortWarnings(check.warnings).map((warning, index) => {
    const own = places.filter(({ number }) => number === index + 1)
    const items = own.map((each) => placeItem(each, texts, selected, onPlace))
    return { warning, item: cause(index + 1, warning.message, warning.remedy, warning.count, items, texts) }
  })
  const mistakes = causes.filter(({ warning }) => !warning.isNote)
  const notes = causes.filter(({ warning }) => warning.isNote)
  return html`<section class="check" aria-label=${texts.drawingCheck}>
    <h2>${texts.drawingCheck}</h2>
    <p>${fill(texts.drawingRead, { ...check.summary })}</p>
    ${mistakes.length ? html`<ol class="causes">${mistakes.map(({ item }) => item)}</ol>` : html`<p role="status">${texts.noWarnings}</p>`}
    ${notes.length ? html`<details><summary>${texts.notes}</summary>
      <ol class="causes" start=${mistakes.length + 1}>${notes.map(({ item }) => item)}</ol></details>` : nothing}
  </section>`
}

/** Why a drawing was rejected, and where it is wrong. */
export function rejectedDrawing({ message, line }: RejectedDrawing, texts: Texts): TemplateResult {
  const where = line && !message.startsWith('line ') ? `${fill(texts.atLine, { line })}: ` : ''
  return html`<p class="failure" role="alert">${texts.drawingRejected}: ${where}${message}</p>`
}

export interface PlanProblemsView {
  report: RoutingReport
  texts: Texts
  floorName(id: string): string
  selected?: string | undefined
  /** Show a problem, by the id of its marker, on the map. */
  onProblem(id: string, position: { x: number; y: number }, floor: string): void
}

export function planProblemsPanel({ report, texts, floorName, selected, onProblem }: PlanProblemsView): TemplateResult {
  const groups = (report.groups ?? []).map(({ number, statement, remedy, count, problems }) => {
    const items = problems.map((problem, index) => {
      const id = `problem:${number}:${index}`
      const position = positionOf(problem, report)
      const floor = problem.level_id
      const show = position && floor !== null ? () => onProblem(id, position, floor) : undefined
      return item(problemText(problem, floorName), id === selected, show)
    })
    return cause(number, statement, remedy, count, items, texts)
  })
  return html`<section class="check" aria-label=${texts.planProblems}>
    <h2>${texts.planProblems}</h2>
    ${groups.length ? html`<ol class="causes">${groups}</ol>` : html`<p role="status">${texts.noProblems}</p>`}
  </section>`
}

function problemText({ message, level_id, name }: PlanProblem, floorName: (id: string) => string): string {
  const more = [level_id === null ? '' : floorName(level_id), message.includes(name) ? '' : name].filter(Boolean)
  return more.length ? `${message} (${more.join(', ')})` : message
}

function cause(
  number: number,
  message: string,
  remedy: string,
  count: number,
  items: TemplateResult[],
  texts: Texts,
): TemplateResult {
  const text = items.length < count ? texts.firstPlaces : texts.times
  const summary = html`<span class="number">${number}</span> ${message}`
  return html`<li>
    <p class="cause">${summary}</p>
    ${remedy ? html`<p class="remedy">${remedy}</p>` : nothing}
    ${items.length > 1 || count > 1
      ? html`<details ?open=${items.length <= 5}><summary>${fill(text, { count, shown: items.length })}</summary>
          <ul class="places">${items}</ul></details>`
      : html`<ul class="places">${items}</ul>`}
  </li>`
}

function placeItem(
  each: LocatedPlace,
  texts: Texts,
  selected: string | undefined,
  onPlace: (place: LocatedPlace) => void,
): TemplateResult {
  const { line, name, x } = each.place
  const where = line ? fill(texts.atLine, { line }) : name ? '' : texts.wholeDrawing
  const text = [where, describePlace(each.place)].filter(Boolean).join(': ')
  const isOnMap = x !== null
  const hint = line && !isOnMap ? texts.onlyInFile : ''
  return item(text, each.id === selected, isOnMap ? () => onPlace(each) : undefined, hint)
}

function item(text: string, isSelected: boolean, show: (() => void) | undefined, hint = ''): TemplateResult {
  if (!show) return html`<li>${text} ${hint ? html`<small>${hint}</small>` : nothing}</li>`
  return html`<li><button type="button" aria-pressed=${isSelected} @click=${show}>${text}</button></li>`
}
