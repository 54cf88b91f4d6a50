// A request that failed, where its answer would be.

import { html, nothing, type TemplateResult } from 'lit'
import { toMessage } from '../data/api.js'
import type { Texts } from '../texts.js'

export function failure(texts: Texts, error: unknown, retry: () => void): TemplateResult | typeof nothing {
  if (error === undefined) return nothing
  return html`<p class="failure" role="alert">
    ${toMessage(error, texts)}
    <button type="button" @click=${retry}>${texts.tryAgain}</button>
  </p>`
}
