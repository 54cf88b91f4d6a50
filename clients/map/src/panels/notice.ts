// What is shown in place of a map that cannot be shown, or is not there yet.

import { html, nothing } from 'lit'

/** A sentence; after an error, with a button to try again. */
export function notice(text: string | undefined, again?: { text: string; onPress(): void }) {
  if (!text) return nothing
  if (!again) return html`<p class="notice" role="status">${text}</p>`
  return html`<div class="notice" role="alert"><span>${text}</span><button @click=${again.onPress}>${again.text}</button></div>`
}
