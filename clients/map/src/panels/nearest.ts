// The nearest amenities, and what is within some minutes.

import { html, nothing, type TemplateResult } from 'lit'
import { formatUnit } from '../data/measures.js'
import { AMENITIES, MAX_WITHIN } from '../data/reach.js'
import { fill } from '../texts.js'
import { failureOf, floorName, length, type RoutesView, time } from './routes_view.js'

const FIRST_MINUTES = 2
const LAST_MINUTES = 15
const STEP = 0.5
const LISTED = 10
const MAX_CHIPS = 6

/** The nearest amenities, ranked by time: choosing one leads there. */
export function nearestPanel(view: RoutesView): TemplateResult | typeof nothing {
  const { finder, state, texts, change } = view
  if (!view.start) return nothing
  const { nearest } = finder
  const found = nearest.value
  const { tags = AMENITIES } = state
  return html`<section class="nearest" aria-busy=${nearest.isBusy ? 'true' : 'false'}>
    <h3>${tags === AMENITIES ? texts.nearest : fill(texts.nearestOf, { tags })}</h3>
    ${failureOf(view, nearest)} ${found && !found.length ? html`<p>${texts.nothingNear}</p>` : nothing}
    <ol>
      ${found?.slice(0, LISTED).map(({ id, place, feet, seconds }) => {
        const name = place.name ?? texts.unnamed
        const floor = floorName(view, place.floorId)
        return html`<li>
          <button
            class="row"
            type="button"
            aria-current=${state.to?.location === id ? 'true' : nothing}
            @click=${() => change({ to: { location: id } })}
          >
            <span><span class="unseen">${texts.routeToPlace}</span> ${name} <small>${floor}</small></span>
            <small>${time(view, seconds)} · ${length(view, feet)}</small>
          </button>
        </li>`
      })}
    </ol>
  </section>`
}

/** The nearest of what people look for most, each a button that leads there. */
export function chips({ finder, texts, change }: RoutesView): TemplateResult | typeof nothing {
  const near = finder.nearest.value ?? []
  const found = texts.wanted.split(',').flatMap((wanted) => near.find(({ kinds }) => kinds.some((kind) => kind.endsWith(`==${wanted.trim()}`))) ?? [])
  const chosen = [...new Set(found)].slice(0, MAX_CHIPS)
  if (!chosen.length) return nothing
  return html`<div class="chips" role="group" aria-label=${texts.suggestions}>
    ${chosen.map(({ id, place }) => html`<button type="button" @click=${() => change({ to: { location: id } })}>${place.name ?? texts.unnamed}</button>`)}
  </div>`
}

/** A slider of minutes, with how much is within reach. */
export function reachPanel(view: RoutesView): TemplateResult | typeof nothing {
  const { finder, state, texts, change } = view
  if (!view.start) return nothing
  const { minutes } = state
  const toggle = (event: Event) => {
    change({ minutes: (event.target as HTMLInputElement).checked ? FIRST_MINUTES : undefined })
  }
  return html`<section class="reach">
    <label class="option">
      <input type="checkbox" .checked=${minutes !== undefined} @change=${toggle} /> ${texts.reach}
    </label>
    ${minutes === undefined ? nothing : html`${slider(view, finder.sliding ?? minutes)} ${failureOf(view, finder.reach)}`}
    <p role="status">${reachSummary(view)}</p>
  </section>`
}

function slider({ finder, texts, change }: RoutesView, minutes: number): TemplateResult {
  const valueOf = (event: Event) => (event.target as HTMLInputElement).valueAsNumber
  const set = (event: Event) => {
    finder.slide(undefined)
    change({ minutes: valueOf(event) })
  }
  return html`<div class="slider">
    <input
      type="range"
      aria-label=${texts.minutes}
      aria-valuetext=${formatUnit(minutes, 'minute', texts.language)}
      min=${STEP}
      max=${Math.max(LAST_MINUTES, minutes)}
      step=${STEP}
      .value=${String(minutes)}
      @input=${(event: Event) => finder.slide(valueOf(event))}
      @change=${set}
    />
    <output aria-hidden="true">${formatUnit(minutes, 'minute', texts.language)}</output>
  </div>`
}

function reachSummary({ finder, texts }: RoutesView): string | typeof nothing {
  const { value: reach, isBusy } = finder.reach
  if (!reach || isBusy) return nothing
  const minutes = formatUnit(reach.minutes, 'minute', texts.language)
  const count = ({ length }: string[]) => (length < MAX_WITHIN ? length : fill(texts.orMore, { count: length }))
  return fill(texts.within, { minutes, units: count(reach.units), amenities: count(reach.amenities) })
}
