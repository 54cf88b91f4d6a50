// A request that failed, where its answer would be.

import { html, nothing, type TemplateResult } from 'lit'
import { toMessage } from '../data/api.js'
import type { Asked } from './route_finder.js'
import type { RoutesView } from './routes_view.js'

export function failure({ texts }: RoutesView, asked: Asked<unknown>): TemplateResult | typeof nothing {
  if (asked.error === undefined) return nothing
  return html`<p class="failure" role="alert">
    ${toMessage(asked.error, texts)}
    <button type="button" @click=${() => asked.retry()}>${texts.tryAgain}</button>
  </p>`
}
