// The panel of routes: from where to where, how, and the way.

import { html, nothing, type TemplateResult } from 'lit'
import { convertStep } from '../data/measures.js'
import { floorsOf } from '../data/overlays.js'
import type { Found } from '../data/search.js'
import type { FoundRoute } from '../data/routes.js'
import { AVOIDABLES, type Avoidable, MODES } from '../state.js'
import { fill } from '../texts.js'
import { icons } from './icons.js'
import { nearestPanel, reachPanel } from './nearest.js'
import { explain, noRoute } from './no_route.js'
import { type End, failureOf, floorName, length, nameWaypoint, type RoutesView, time, waypointOf } from './routes_view.js'

/** Everything about routes; nothing if the key may not ask for them, or while that is unknown. */
export function routesPanel(view: RoutesView): TemplateResult | typeof nothing {
  const { availability } = view.finder
  if (availability.error !== undefined) return html`<section class="routes">${failureOf(view, availability)}</section>`
  if (!availability.value?.allowed) return nothing
  const { reason } = availability.value
  return html`<section class="routes" aria-label=${view.texts.routes}>
    ${reason ? html`<p>${explain(view, reason)}</p>` : html`${form(view)} ${result(view)}`}
    ${reason ? nothing : html`${nearestPanel(view)} ${reachPanel(view)}`}
  </section>`
}

function form(view: RoutesView): TemplateResult {
  const { state, texts, change } = view
  const { from, to, mode, avoid } = state
  const toggle = (each: Avoidable) => {
    const others = avoid.filter((other) => other !== each)
    change({ avoid: others.length < avoid.length ? others : [...avoid, each] })
  }
  return html`<form @submit=${(event: Event) => event.preventDefault()}>
    ${field(view, 'from')} ${field(view, 'to')}
    <p class="hint" role="status">${view.choosing ? texts.choosing : nothing}</p>
    <button
      class="swap"
      type="button"
      ?disabled=${!from && !to}
      @click=${() => change({ from: to, to: from })}
    >
      ${icons.swap} ${texts.swap}
    </button>
    <fieldset class="modes">
      <legend>${texts.mode}</legend>
      ${MODES.map(
        (each) => html`<label class="option">
          <input
            type="radio"
            name="floorgate-mode"
            value=${each}
            .checked=${each === mode}
            @change=${() => change({ mode: each })}
          />
          ${texts[each]}
        </label>`,
      )}
    </fieldset>
    <fieldset class="avoid">
      <legend>${texts.avoid}</legend>
      ${AVOIDABLES.map((each) => {
        // Wheelchairs take neither in any case.
        const never = mode === 'wheelchair' && (each === 'stairs' || each === 'escalators')
        return html`<label class="option">
          <input
            type="checkbox"
            value=${each}
            .checked=${never || avoid.includes(each)}
            ?disabled=${never}
            @change=${() => toggle(each)}
          />
          ${texts[each]}
        </label>`
      })}
    </fieldset>
  </form>`
}

/** An end of the route: a search field, or a click on the map. */
function field(view: RoutesView, end: End): TemplateResult {
  const { texts, state, change } = view
  const waypoint = state[end]
  const [choose, clear] = end === 'from' ? [texts.chooseFrom, texts.clearFrom] : [texts.chooseTo, texts.clearTo]
  const isChoosing = view.choosing === end
  return html`<div class="place">
    <span aria-hidden="true">${texts[end]}</span>
    <floorgate-search
      .index=${view.index}
      .texts=${texts}
      .label=${texts[end]}
      .chosen=${waypoint ? nameWaypoint(view, waypoint) : ''}
      .floorNames=${view.floorNames}
      @choose=${({ detail }: CustomEvent<Found>) => change({ [end]: waypointOf(detail) })}
    ></floorgate-search>
    <button
      class="icon"
      type="button"
      aria-pressed=${isChoosing}
      aria-label=${choose}
      title=${choose}
      @click=${() => view.choose(isChoosing ? undefined : end)}
    >
      ${icons.target}
    </button>
    <button
      class="icon"
      type="button"
      aria-label=${clear}
      title=${clear}
      ?disabled=${!waypoint}
      @click=${() => change({ [end]: undefined })}
    >
      ${icons.close}
    </button>
  </div>`
}

function result(view: RoutesView): TemplateResult {
  const { finder, state, texts } = view
  const { route } = finder
  const { from, to } = state
  const answer = route.value
  return html`<section class="result" aria-busy=${route.isBusy ? 'true' : 'false'}>
    ${answer && from && to
      ? html`<p class="printed">${texts.from}: ${nameWaypoint(view, from)}. ${texts.to}: ${nameWaypoint(view, to)}.</p>`
      : nothing}
    <p class="summary" role="status">${summary(view)}</p>
    ${failureOf(view, route)} ${answer?.kind === 'route' ? way(view, answer) : nothing}
    ${answer?.kind === 'none' ? noRoute(view, answer) : nothing}
  </section>`
}

function summary(view: RoutesView): string | typeof nothing {
  const { finder, texts } = view
  const { value: answer, isBusy } = finder.route
  if (isBusy) return texts.looking
  if (!answer) return nothing
  if (answer.kind === 'none') return texts.noRoute
  const text = answer.mode === 'foot' ? texts.onFoot : texts.byWheelchair
  return fill(text, { time: time(view, answer.seconds), length: length(view, answer.feet) })
}

function way(view: RoutesView, route: FoundRoute): TemplateResult {
  const { texts, state, change, measure } = view
  const floors = floorsOf(route.legs)
  return html`
    ${straight(view, route)}
    ${floors.length < 2
      ? nothing
      : html`<nav class="passed" aria-label=${texts.floorsOfRoute}>
          ${floors.map((id) => {
            const current = id === state.floor ? 'true' : nothing
            const show = () => change({ floor: id })
            return html`<button type="button" aria-current=${current} @click=${show}>${floorName(view, id)}</button>`
          })}
        </nav>`}
    <h3>${texts.stepsOfRoute}</h3>
    <ol class="steps">
      ${route.steps.map((step) => {
        const show = () => view.show({ x: step.x, y: step.y, floorId: step.floor_id })
        const text = convertStep(step.text, measure, texts.language)
        return html`<li><button class="row" type="button" @click=${show}>${text}</button></li>`
      })}
    </ol>
  `
}

/** The straight line beside the route, if both ends are on one floor. */
function straight(view: RoutesView, { feet, straightFeet }: FoundRoute): TemplateResult | typeof nothing {
  if (!straightFeet) return nothing
  const { texts } = view
  const share = Math.round((feet / straightFeet - 1) * 100) / 100
  const percent = new Intl.NumberFormat(texts.language, { style: 'percent' }).format(share)
  const sentence = fill(texts.straight, { length: length(view, straightFeet) })
  return html`<p><small>${sentence} ${share > 0 ? fill(texts.longer, { percent }) : texts.asShort}</small></p>`
}
