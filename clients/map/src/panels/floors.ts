// The switch of floors: the highest on top, as in the building.

import { html } from 'lit'
import type { Storey } from '../data/storeys.js'
import type { Texts } from '../texts.js'

/** A group of radio buttons; arrow keys move between storeys. */
export function floorSwitch(storeys: readonly Storey[], shown: string, texts: Texts, onChoose: (id: string) => void) {
  const fromTop = [...storeys].reverse()
  const press = (event: KeyboardEvent) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key]
    const next = step && fromTop[fromTop.findIndex(({ id }) => id === shown) + step]
    if (!next) return
    event.preventDefault()
    onChoose(next.id)
    const buttons = (event.currentTarget as HTMLElement).querySelectorAll('button')
    buttons[fromTop.indexOf(next)]?.focus()
  }
  return html`<div class="floors surface" part="floors" role="radiogroup" aria-label=${texts.floors} @keydown=${press}>
    ${fromTop.map(
      ({ id, name, shortName }) => html`<button
        role="radio"
        aria-checked=${id === shown}
        tabindex=${id === shown ? 0 : -1}
        aria-label=${name}
        title=${name}
        @click=${() => onChoose(id)}
      >
        ${shortName}
      </button>`,
    )}
  </div>`
}
