// Why there is no route, and what to do about it.

import { html, type TemplateResult } from 'lit'
import type { NoRoute } from '../data/routes.js'
import { convertStep } from '../data/measures.js'
import { type ClosedPart, MAX_PARTS, type Reason } from '../data/why.js'
import { fill } from '../texts.js'
import { type End, length, type RoutesView, time } from './routes_view.js'

export function noRoute(view: RoutesView, { reasons }: NoRoute): TemplateResult {
  return html`<ul class="reasons">
    ${reasons.map((reason) => html`<li>${explain(view, reason)}</li>`)}
  </ul>`
}

/** A reason as text, with buttons for what can be done. */
export function explain(view: RoutesView, reason: Reason): TemplateResult {
  const { texts } = view
  switch (reason.code) {
    case 'not-processed':
      return html`${texts.notProcessed}`
    case 'stale':
      return html`${fill(texts.stale, { why: reason.why })}`
    case 'unknown-place':
      return chooseAnother(view, reason.end, reason.end === 'from' ? texts.unknownFrom : texts.unknownTo)
    case 'off-floor':
      return chooseAnother(view, reason.end, reason.end === 'from' ? texts.offFloorFrom : texts.offFloorTo)
    case 'demands':
      return demands(view, reason)
    case 'closed': {
      const names = reason.parts.map((part) => nameOf(view, part))
      if (names.length === MAX_PARTS) names.push(texts.andMore)
      return html`${fill(texts.closed, { parts: join(view, names) })}`
    }
    case 'one-way':
      return html`${texts.oneWay}`
    case 'apart':
      return html`${texts.apart}`
  }
}

function chooseAnother(view: RoutesView, end: End, sentence: string): TemplateResult {
  const { chooseFrom, chooseTo } = view.texts
  return html`${sentence} ${button(end === 'from' ? chooseFrom : chooseTo, () => view.choose(end))}`
}

function demands(view: RoutesView, reason: Extract<Reason, { code: 'demands' }>): TemplateResult {
  const { texts } = view
  const { dropped, mode, avoid, feet, seconds, barrier } = reason
  const avoided = dropped.flatMap((each) => (each === 'wheelchair' ? [] : [texts[each].toLowerCase()]))
  const onFoot = dropped.includes('wheelchair')
  const [sentence, action] = !onFoot ? [texts.avoidedOnly, texts.allow]
    : avoided.length ? [texts.footAndAvoidedOnly, texts.goOnFootAllow]
    : [texts.footOnly, texts.goOnFoot]
  const values = { kinds: join(view, avoided), time: time(view, seconds), length: length(view, feet) }
  const step = barrier && convertStep(barrier.text, view.measure, texts.language)
  return html`${fill(sentence, values)} ${step && fill(texts.barrier, { step })}
  ${barrier && button(texts.showBarrier, () => view.show({ ...barrier, floorId: barrier.floor_id }))}
  ${button(fill(action, values), () => view.change({ mode, avoid }))}`
}

function nameOf({ texts }: RoutesView, { name, part, kind }: ClosedPart): string {
  if (name) return name
  return texts[kind ?? part]
}

function join({ texts }: RoutesView, names: string[]): string {
  return new Intl.ListFormat(texts.language).format(names)
}

function button(text: string, click: () => void): TemplateResult {
  return html`<button type="button" @click=${click}>${text}</button>`
}
