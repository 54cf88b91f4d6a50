// An element with the state of the explorer: as one property, and each part as an attribute and a property.

import { LitElement } from 'lit'
import type { SentRequest } from './data/api.js'
import type { FoundRoute } from './data/routes.js'
import { readLink } from './links.js'
import { type ExplorerState, INITIAL_STATE } from './state.js'

/** The parts of the state, each an attribute that is written as in links. */
const PARTS = [
  'map', 'floor', 'unit', 'location', 'here', 'from', 'to', 'mode', 'avoid', 'minutes', 'tags', 'color', 'theme',
] as const satisfies (keyof ExplorerState)[]

/** The events of the element, by name. */
export interface FloorgateMapEvents {
  /** The map is drawn. */
  ready: CustomEvent<{ map: string; name: string }>
  /** The user has changed what is shown. */
  statechange: CustomEvent<ExplorerState>
  /** The user has selected a unit; null when it is no longer selected. */
  unitselect: CustomEvent<{ id: string; name: string; floorId: string } | null>
  /** A route was found. */
  routefound: CustomEvent<FoundRoute>
  /** The user went back from a drawing to the map. */
  checkend: CustomEvent<null>
  /** A request is sent to the service; its API key is not among the headers. */
  request: CustomEvent<SentRequest>
  /** The map cannot be shown. */
  failure: CustomEvent<{ error: unknown; message: string }>
}

// Each part of the state is a property too, which takes a value of the state or text as in links.
export interface StateElement extends ExplorerState {
  addEventListener<E extends keyof ElementEvents>(
    type: E,
    listener: (this: this, event: ElementEvents[E]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void
  removeEventListener<E extends keyof ElementEvents>(
    type: E,
    listener: (this: this, event: ElementEvents[E]) => unknown,
    options?: boolean | EventListenerOptions,
  ): void
  removeEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | EventListenerOptions): void
}

type ElementEvents = FloorgateMapEvents & HTMLElementEventMap

export class StateElement extends LitElement {
  static override properties = { state: { attribute: false, noAccessor: true } }

  static override get observedAttributes() {
    return [...super.observedAttributes, ...PARTS]
  }

  #state = INITIAL_STATE
  /** Whether the user has changed nothing yet. */
  isUntouched = true

  constructor() {
    super()
    this.requestUpdate('state')
  }

  /** What is shown; set it to show something else. Parts that are left out are as at first. */
  get state(): ExplorerState {
    return this.#state
  }

  set state(state: Partial<ExplorerState>) {
    const last = this.#state
    this.#state = { ...INITIAL_STATE, ...state }
    this.requestUpdate('state', last)
  }

  override attributeChangedCallback(name: string, old: string | null, value: string | null) {
    super.attributeChangedCallback(name, old, value)
    const part = PARTS.find((each) => each === name)
    if (part) this[part] = value as never
  }

  /** Change a part of what is shown, as a user does. Fires `statechange`. */
  change(part: Partial<ExplorerState>) {
    this.isUntouched = false
    const parts = Object.entries({ ...this.state, ...part }).filter(([, value]) => value !== undefined)
    this.state = Object.fromEntries(parts) as unknown as ExplorerState
    this.fire('statechange', this.state)
  }

  fire<E extends keyof FloorgateMapEvents>(type: E, detail: FloorgateMapEvents[E]['detail']) {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }))
  }
}

for (const part of PARTS) {
  Object.defineProperty(StateElement.prototype, part, {
    get(this: StateElement) {
      return this.state[part]
    },
    set(this: StateElement, value: unknown) {
      const given = typeof value === 'string' ? readLink(String(new URLSearchParams({ [part]: value })))[part] : value
      this.state = { ...this.state, [part]: given ?? INITIAL_STATE[part] }
    },
  })
}
