// The panel of routes: from where to where, how, and the way.

import { html, nothing, type TemplateResult } from 'lit'
import { convertStep } from '../data/measures.js'
import { floorsOf } from '../data/overlays.js'
import type { Found } from '../data/search.js'
import type { FoundRoute } from '../data/routes.js'
import { AVOIDABLES, type Avoidable, MODES, type Waypoint } from '../state.js'
import { fill } from '../texts.js'
import { icons } from './icons.js'
import { panelHead } from './head.js'
import { chips, nearestPanel, reachPanel } from './nearest.js'
import { explain, noRoute } from './no_route.js'
import { type End, failureOf, floorName, length, nameWaypoint, type RoutesView, time, waypointOf } from './routes_view.js'

/** Everything about routes; nothing if the key may not ask for them. */
export function routesPanel(view: RoutesView): TemplateResult | typeof nothing {
  const { availability } = view.finder
  if (availability.error !== undefined) return html`<section class="routes">${failureOf(view, availability)}</section>`
  // While that is asked, what needs no answer is shown: most keys may ask.
  if (!(availability.isBusy || availability.value?.allowed)) return nothing
  const reason = availability.value?.reason
  if (reason) return html`<section class="routes">${head(view)}<p>${explain(view, reason)}</p></section>`
  // What is below the suggestions waits for them, so that nothing moves under a thumb.
  const isComplete = view.state.to || (view.index && !availability.isBusy && !view.finder.nearest.isBusy)
  return html`<section class="routes">
    ${head(view)} ${form(view)}
    ${isComplete ? html`${view.state.to ? nothing : chips(view)} ${fold(view)} ${result(view)} ${nearestPanel(view)} ${reachPanel(view)}` : nothing}
  </section>`
}

/** The answer first: time and distance, and what to do next. */
function head(view: RoutesView): TemplateResult {
  const { texts, state, finder, measure } = view
  const answer = finder.route.value
  const next = answer?.kind === 'route' && answer.steps[0]
  const isAsked = view.start && state.to
  return html`
    ${panelHead({
      title: !isAsked && state.here ? texts.whereTo : texts.routes,
      isSeen: !isAsked,
      content: html`<p class="summary" role="status">${summary(view)}</p>`,
      texts,
      onClose: view.close,
    })}
    ${next ? html`<p class="next">${convertStep(next.text, measure, texts.language)}</p>` : nothing}
    ${state.here ? html`<p class="here" role="status">${hereText(view, state.here)}</p>` : nothing}
  `
}

function hereText(view: RoutesView, here: Waypoint): string | typeof nothing {
  const { texts, index, state } = view
  if (state.to && view.start) return nothing
  if (!index) return texts.here
  return view.isLost ? texts.hereUnknown : fill(texts.hereIs, { name: nameWaypoint(view, here) })
}

/** On a small screen, the ends and options of a route are folded into a button. */
function fold(view: RoutesView): TemplateResult | typeof nothing {
  const { state, texts, finder } = view
  const { to, mode, avoid } = state
  const { start } = view
  if (!start) return nothing
  const from = nameWaypoint(view, start)
  const ends = to ? fill(texts.wayOf, { from, to: nameWaypoint(view, to) }) : fill(texts.fromTo, { from })
  const options = [texts[mode], ...(avoid.length ? [`${texts.avoid}: ${avoid.map((each) => texts[each]).join(', ')}`] : [])]
  return html`<button class="fold" type="button" aria-expanded=${finder.isUnfolded} @click=${() => finder.unfold(!finder.isUnfolded)}>
    <span>${ends}</span> <small>${options.join(' · ')}</small>
  </button>`
}

function form(view: RoutesView): TemplateResult {
  const { state, texts, change, finder, start: from } = view
  const { to, mode, avoid } = state
  const toggle = (each: Avoidable) => {
    const others = avoid.filter((other) => other !== each)
    change({ avoid: others.length < avoid.length ? others : [...avoid, each] })
  }
  const isFolded = from !== undefined && !finder.isUnfolded
  return html`<form ?data-folded=${isFolded} @submit=${(event: Event) => event.preventDefault()}>
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
  const waypoint = end === 'from' ? view.start : state.to
  const [choose, clear] = end === 'from' ? [texts.chooseFrom, texts.clearFrom] : [texts.chooseTo, texts.clearTo]
  const isChoosing = view.choosing === end
  return html`<div class="place ${end === 'to' && !waypoint ? 'asked' : ''}">
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
      ?disabled=${!state[end]}
      @click=${() => change({ [end]: undefined })}
    >
      ${icons.close}
    </button>
  </div>`
}

function result(view: RoutesView): TemplateResult {
  const { finder, state, texts } = view
  const { route } = finder
  const [from, to] = [view.start, state.to]
  const answer = route.value
  return html`<section class="result" aria-busy=${route.isBusy ? 'true' : 'false'}>
    ${answer && from && to
      ? html`<p class="printed">${texts.from}: ${nameWaypoint(view, from)}. ${texts.to}: ${nameWaypoint(view, to)}.</p>`
      : nothing}
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
    ${straight(view, route)}
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
