// The sheet that holds the panels on a phone: dragged to one of three heights, or set to one with a key.

import { html, type ReactiveControllerHost } from 'lit'
import type { Texts } from '../texts.js'

export const HEIGHTS = ['peek', 'half', 'full'] as const
export type Height = (typeof HEIGHTS)[number]

const PEEK_PIXELS = 112
const HALF = 0.46 // of the element
const FULL_GAP = 60 // pixels of the map that stay in sight
const DRAG_PIXELS = 6 // a tap moves less
const GLIDE_MS = 200 // how far a fling carries on

export class Sheet {
  height: Height = 'half'
  /** Whether the last press was a drag: its click does nothing. */
  #isDragged = false
  #drag: { y: number; from: number; height: number; at: number; speed: number } | undefined

  constructor(private readonly host: ReactiveControllerHost & HTMLElement) {}

  /** How many pixels a height takes. */
  pixels(height: Height = this.height): number {
    const whole = this.host.clientHeight
    const full = Math.max(0, whole - FULL_GAP)
    return { peek: Math.min(PEEK_PIXELS, full), half: Math.min(full, Math.max(PEEK_PIXELS, whole * HALF)), full }[height]
  }

  set(height: Height): void {
    this.height = height
    this.host.requestUpdate()
  }

  /** What is dragged, and a button for the keyboard and for screen readers. */
  handle(texts: Texts) {
    const isFull = this.height === 'full'
    return html`<button
      class="handle grip"
      aria-label=${isFull ? texts.showLess : texts.showMore}
      aria-expanded=${this.height !== 'peek'}
      @click=${() => this.#isDragged || this.set(isFull ? 'peek' : HEIGHTS[HEIGHTS.indexOf(this.height) + 1]!)}
      @keydown=${this.#press}
    ></button>`
  }

  #press = (event: KeyboardEvent): void => {
    this.#isDragged = false
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key]
    if (!step) return
    event.preventDefault()
    this.set(HEIGHTS[HEIGHTS.indexOf(this.height) + step] ?? this.height)
  }

  /** Listeners of the sheet. */
  readonly start = (event: PointerEvent): void => {
    const grip = (event.target as Element).closest('.grip')
    const control = (event.target as Element).closest('button, a, input, floorgate-search')
    if (!grip || (control && control !== grip)) return
    const sheet = event.currentTarget as HTMLElement
    if (!sheet.querySelector('.handle')?.checkVisibility()) return // not on a desk
    const height = sheet.clientHeight
    grip.setPointerCapture(event.pointerId)
    this.#isDragged = false
    this.#drag = { y: event.clientY, from: height, height, at: event.timeStamp, speed: 0 }
  }

  readonly move = (event: PointerEvent): void => {
    const drag = this.#drag
    if (!drag) return
    const sheet = event.currentTarget as HTMLElement
    const moved = drag.y - event.clientY
    if (!this.#isDragged && Math.abs(moved) < DRAG_PIXELS) return
    this.#isDragged = true
    sheet.toggleAttribute('data-dragged', true)
    const height = Math.min(this.pixels('full'), Math.max(this.pixels('peek'), drag.from + moved))
    drag.speed = (height - drag.height) / Math.max(1, event.timeStamp - drag.at)
    Object.assign(drag, { height, at: event.timeStamp })
    sheet.style.setProperty('--height', `${height}px`)
  }

  readonly end = (event: PointerEvent): void => {
    const sheet = event.currentTarget as HTMLElement
    const drag = this.#drag
    this.#drag = undefined
    if (!drag || !this.#isDragged) return
    setTimeout(() => (this.#isDragged = false)) // after the click
    sheet.removeAttribute('data-dragged')
    sheet.style.removeProperty('--height')
    const isResting = event.timeStamp - drag.at > GLIDE_MS
    const aim = drag.height + (isResting ? 0 : drag.speed * GLIDE_MS)
    const away = (height: Height) => Math.abs(this.pixels(height) - aim)
    this.set(HEIGHTS.reduce((nearest, each) => (away(each) < away(nearest) ? each : nearest)))
  }
}
