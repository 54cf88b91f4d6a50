// The search field: a combobox with a list of what is found (ARIA Authoring Practices, combobox pattern).

import { css, html, LitElement, nothing } from 'lit'
import { live } from 'lit/directives/live.js'
import { repeat } from 'lit/directives/repeat.js'
import type { Found, NameIndex } from '../data/search.js'
import { ENGLISH, fill, type Texts } from '../texts.js'
import { controls } from './styles.js'

const LIMIT = 50

/** Fires `choose` with what was chosen, and `results` with what is found as the user types. */
export class SearchField extends LitElement {
  static override properties = {
    index: { attribute: false },
    texts: { attribute: false },
    floorNames: { attribute: false },
    label: {},
    chosen: {},
    typed: { state: true },
    active: { state: true },
    isOpen: { state: true },
    isTyping: { state: true },
  }
  static override styles = [
    controls,
    css`
      :host { position: relative; display: block; flex: 1; min-width: 0; }
      input { width: 100%; }
      .list { position: absolute; z-index: 5; inset: calc(100% + 6px) 0 auto; max-height: min(50vh, 420px); overflow: auto; margin: 0; padding: 4px; }
      [role='option'] { display: flex; justify-content: space-between; gap: 12px; padding: 9px 10px; border-radius: 6px; cursor: pointer; }
      [role='option'][aria-selected='true'], [role='option']:hover { background: var(--floorgate-hover-surface); }
      small { color: var(--floorgate-quiet); white-space: nowrap; }
      @container (width < 640px) {
        input { min-height: 44px; }
        [role='option'] { padding: 12px 10px; }
        /* The field of the sheet is at its bottom; those in a panel have room below them. */
        :host(.up) .list { inset: auto auto calc(100% + 6px) 0; width: calc(100cqw - 24px); }
        :host(:not(.up)) .list { position: static; max-height: none; margin-top: 6px; box-shadow: none; }
      }
      .count { margin: 0; padding: 6px 10px; color: var(--floorgate-quiet); font-size: 13px; }
    `,
  ]

  declare index: NameIndex | undefined
  declare texts: Texts
  /** The short names of floors, by id. */
  declare floorNames: ReadonlyMap<string, string>
  /** The name of the field; by default that of a search. */
  declare label: string
  /** The name of what was chosen, which the field shows until the user types. */
  declare chosen: string
  declare typed: string
  declare active: number
  declare isOpen: boolean
  declare isTyping: boolean

  constructor() {
    super()
    this.texts = ENGLISH
    this.floorNames = new Map()
    this.label = ''
    this.chosen = ''
    this.typed = ''
    this.active = -1
    this.isOpen = false
    this.isTyping = false
  }

  override render() {
    const { found, count } = this.#find()
    const isOpen = this.isOpen && this.typed.trim() !== ''
    return html`
      <input
        type="search"
        role="combobox"
        aria-label=${this.label || this.texts.search}
        placeholder=${this.texts.search}
        aria-autocomplete="list"
        aria-controls="list"
        aria-expanded=${isOpen}
        aria-activedescendant=${isOpen && found[this.active] ? `option-${this.active}` : nothing}
        autocomplete="off"
        spellcheck="false"
        .value=${live(this.isTyping ? this.typed : this.chosen)}
        @input=${this.#type}
        @focus=${() => (this.isOpen = true)}
        @blur=${this.#leave}
        @keydown=${(event: KeyboardEvent) => this.#press(event, found)}
      />
      <div class="surface list" ?hidden=${!isOpen} @mousedown=${(event: Event) => event.preventDefault()}>
        <p class="count" role="status">${isOpen ? this.#describe(count, found.length) : nothing}</p>
        <div id="list" role="listbox" aria-label=${this.label || this.texts.search}>
          ${isOpen ? repeat(found, ({ id }) => id, (each, index) => this.#option(each, index)) : nothing}
        </div>
      </div>
    `
  }

  #option(found: Found, index: number) {
    return html`<div id="option-${index}" role="option" aria-selected=${index === this.active} @click=${() => this.#choose(found)}>
      <span>${found.name}</span><small>${this.floorNames.get(found.floorId ?? '') ?? nothing}</small>
    </div>`
  }

  #find() {
    return this.index?.find(this.typed, LIMIT) ?? { found: [], count: 0 }
  }

  #describe(count: number, shown: number): string {
    const { noResults, oneResult, results, moreResults } = this.texts
    if (count > shown) return fill(moreResults, { count, shown })
    return count === 0 ? noResults : count === 1 ? oneResult : fill(results, { count })
  }

  #type(event: Event) {
    this.typed = (event.target as HTMLInputElement).value
    this.active = -1
    this.isOpen = true
    this.isTyping = true
    this.#announce()
  }

  #leave() {
    this.isOpen = false
    if (this.chosen) this.clear()
  }

  #announce() {
    const units = this.typed.trim() && this.index?.find(this.typed, Infinity).found.filter(({ kind }) => kind === 'unit')
    this.dispatchEvent(new CustomEvent('results', { detail: units ? new Set(units.map(({ id }) => id)) : undefined }))
  }

  #press(event: KeyboardEvent, found: Found[]) {
    if (event.key === 'ArrowDown') this.active = Math.min(this.active + 1, found.length - 1)
    else if (event.key === 'ArrowUp') this.active = Math.max(this.active - 1, 0)
    else if (event.key === 'Enter') {
      const chosen = found[Math.max(this.active, 0)]
      if (chosen) this.#choose(chosen)
    } else if (event.key === 'Escape' && this.isTyping) this.clear()
    else return
    event.preventDefault()
    event.stopPropagation()
    this.updateComplete.then(() => this.renderRoot.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }))
  }

  #choose(found: Found) {
    this.clear()
    this.dispatchEvent(new CustomEvent<Found>('choose', { detail: found }))
  }

  clear() {
    this.typed = ''
    this.active = -1
    this.isOpen = false
    this.isTyping = false
    this.#announce()
  }
}
