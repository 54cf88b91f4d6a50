// Markers: buttons that stay where their point is. Amenities are left out where they overlap others.

import type { Frame, Transform } from './pictures.js'
import type { Marker, MarkerKind } from './types.js'

const MAX_SHOWN = 500
const APART = 30 // pixels between amenities: the size of a marker and a gap
const BEYOND = 0.25 // of the view, in which markers are kept ready while it moves
const RANK: Record<MarkerKind, number> = { here: 0, start: 0, end: 0, stop: 1, warning: 2, amenity: 3 }

export class Markers {
  readonly #layer: HTMLElement
  readonly #buttons = new Map<string, HTMLButtonElement>()
  #markers: Marker[] = []
  #apart: Marker[] = []
  #scale = 0
  #placed = 0

  constructor(parent: HTMLElement, pressed: (id: string) => void) {
    this.#layer = parent.appendChild(document.createElement('div'))
    this.#layer.className = 'markers'
    this.#layer.addEventListener('click', (event) => {
      const id = (event.target as Element).closest('button')?.dataset.id
      if (id !== undefined) pressed(id)
    })
  }

  set(markers: readonly Marker[]): void {
    this.#markers = [...markers].sort((one, other) => RANK[one.kind] - RANK[other.kind])
    this.#scale = 0
    const ids = new Set(markers.map(({ id }) => id))
    for (const [id, button] of this.#buttons) {
      if (ids.has(id)) continue
      button.remove()
      this.#buttons.delete(id)
    }
    for (const marker of markers) {
      const button = this.#buttons.get(marker.id)
      if (button) write(button, marker)
    }
  }

  /** Move to where the points are now; `moving` leaves it to the end to choose which are shown. */
  move(transform: Transform, frame: Frame, moving: boolean): void {
    const { k, x, y } = transform
    this.#layer.style.transform = `translate(${x}px, ${y}px)`
    if (!this.#scale || (!moving && k !== this.#scale)) {
      this.#apart = apart(this.#markers, k)
      this.#scale = k
    }
    const shown = this.#apart.filter((marker) => isNear(marker, transform, frame)).slice(0, MAX_SHOWN)
    this.#show(shown)
    if (k === this.#placed) return
    this.#placed = k
    for (const marker of shown) put(this.#buttons.get(marker.id)!, marker, k)
  }

  #show(shown: readonly Marker[]): void {
    const ids = new Set(shown.map(({ id }) => id))
    for (const [id, button] of this.#buttons) {
      // the focus must not get lost because the view moved
      if (ids.has(id) || button.matches(':focus')) continue
      button.remove()
      this.#buttons.delete(id)
    }
    for (const marker of shown) {
      if (this.#buttons.has(marker.id)) continue
      const button = this.#layer.appendChild(document.createElement('button'))
      button.type = 'button'
      write(button, marker)
      this.#buttons.set(marker.id, button)
      put(button, marker, this.#scale)
      this.#placed = 0
    }
  }
}

function write(button: HTMLButtonElement, { id, kind, text, label }: Marker): void {
  button.className = `marker ${kind}`
  button.dataset.id = id
  button.title = label
  button.ariaLabel = label
  const pin = document.createElement('span')
  pin.textContent = text
  button.replaceChildren(pin)
}

function put(button: HTMLButtonElement, { x, y }: Marker, k: number): void {
  button.style.translate = `${x * k}px ${y * k}px`
}

function isNear(point: Marker, { k, x, y }: Transform, { width, height }: Frame): boolean {
  const [across, down] = [point.x * k + x, point.y * k + y]
  return (
    across > -BEYOND * width && across < (1 + BEYOND) * width &&
    down > -BEYOND * height && down < (1 + BEYOND) * height
  )
}

// All that are no amenities, and amenities that are apart from all before them.
function apart(markers: readonly Marker[], k: number): Marker[] {
  const cells = new Map<string, Marker[]>()
  return markers.filter((marker) => {
    const [column, row] = [Math.floor((marker.x * k) / APART), Math.floor((marker.y * k) / APART)]
    const near = [-1, 0, 1].flatMap((dx) => [-1, 0, 1].flatMap((dy) => cells.get(`${column + dx} ${row + dy}`) ?? []))
    const overlaps = near.some(({ x, y }) => Math.hypot(x - marker.x, y - marker.y) * k < APART)
    if (overlaps && marker.kind === 'amenity') return false
    const cell = `${column} ${row}`
    cells.set(cell, [...(cells.get(cell) ?? []), marker])
    return true
  })
}
