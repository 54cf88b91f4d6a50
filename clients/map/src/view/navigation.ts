// Pan and zoom: by mouse, touch and keyboard, and by program.

import { select, type Selection } from 'd3-selection'
import 'd3-transition'
import { zoom, type ZoomBehavior, zoomIdentity, type ZoomTransform, zoomTransform } from 'd3-zoom'
import type { Frame } from './pictures.js'
import type { Box, Padding } from './types.js'

const FIT_PADDING = { top: 16, right: 16, bottom: 16, left: 16 }
const MILLISECONDS = 300
const KEY_PAN = 80 // pixels
const KEY_ZOOM = 1.4
const CLICK_DISTANCE = 4 // pixels that a mouse may move in a click
const LEAST_SEEN = 0.2 // of the view, which the page cannot leave
const MAX_UNITS_ACROSS = 200 // no unit counts as smaller than this share of the page

export class Navigation {
  readonly #stage: Selection<HTMLElement, unknown, null, undefined>
  readonly #zoom: ZoomBehavior<HTMLElement, unknown>
  readonly #calm = window.matchMedia('(prefers-reduced-motion: reduce)')
  #page: Box = { x: 0, y: 0, width: 1, height: 1 }
  #smallest = 1
  #covered: number | undefined
  #frame: Frame = { width: 0, height: 0 }
  /** What was fitted last, until the user or the program moves away from it. */
  #fitted: { box?: Box; padding?: Padding } | undefined = {}
  /** Whether a gesture or an animation is under way. */
  moving = false

  constructor(private readonly element: HTMLElement, moved: () => void) {
    this.#zoom = zoom<HTMLElement, unknown>()
      .extent(() => [[0, 0], [this.#frame.width, this.#frame.height]])
      .constrain((transform) => this.#constrain(transform))
      .clickDistance(CLICK_DISTANCE)
      .on('start zoom end', ({ type, sourceEvent }: { type: string; sourceEvent: unknown }) => {
        this.moving = type !== 'end'
        if (sourceEvent && type === 'zoom') this.#fitted = undefined
        moved()
      })
    this.#setCalm()
    this.#calm.addEventListener('change', this.#setCalm)
    this.#stage = select(element)
    this.#stage.call(this.#zoom)
    element.addEventListener('keydown', this.#pressKey)
  }

  get transform(): ZoomTransform {
    return zoomTransform(this.element)
  }

  /** The box of the drawing that is in view. */
  get visible(): Box {
    const { k, x, y } = this.transform
    return { x: -x / k, y: -y / k, width: this.#frame.width / k, height: this.#frame.height / k }
  }

  /** Take another size: what was fitted is fitted again, else what is in the middle stays there. */
  resize(frame: Frame): void {
    const { x, y, width, height } = this.visible
    const wasShown = width > 0 && height > 0
    this.#frame = frame
    this.#setExtent()
    if (this.#fitted) this.fit(this.#fitted.box, false, this.#fitted.padding)
    else if (wasShown) this.#stage.call(this.#zoom.translateTo, x + width / 2, y + height / 2)
  }

  /** Set the page, and the smallest box that has to fill the view when it is zoomed in. */
  setPage(page: Box, smallest: Box | undefined): void {
    this.#page = page
    this.#smallest = Math.max(
      smallest?.width ?? 0, smallest?.height ?? 0, Math.max(page.width, page.height) / MAX_UNITS_ACROSS,
    )
    this.#setExtent()
  }

  /** Show a box, or the page. */
  fit(box: Box | undefined, animate: boolean, padding?: Padding): void {
    this.#fitted = { box, padding }
    this.#moveTo(box ?? this.#page, animate, padding ?? FIT_PADDING)
  }

  /** Keep what is in view above what covers its lower edge. */
  cover(padding: Padding): void {
    const more = padding.bottom - (this.#covered ?? padding.bottom)
    this.#covered = padding.bottom
    if (!more) return
    if (this.#fitted) return this.fit(this.#fitted.box, true, padding)
    const { k } = this.transform
    this.#stage.call(this.#zoom.translateBy, 0, -more / 2 / k)
  }

  #setExtent(): void {
    const least = this.#scaleFor(this.#page, FIT_PADDING) / 2
    const most = Math.min(this.#frame.width, this.#frame.height) / (this.#smallest || 1)
    this.#zoom.scaleExtent([least, Math.max(most, 16 * least)])
  }

  #moveTo(box: Box, animate: boolean, padding: Padding): void {
    if (!(this.#frame.width > 0 && this.#frame.height > 0)) return
    const [least, most] = this.#zoom.scaleExtent()
    const k = Math.min(most, Math.max(least, this.#scaleFor(box, padding)))
    const x = (padding.left + this.#frame.width - padding.right) / 2 - (box.x + box.width / 2) * k
    const y = (padding.top + this.#frame.height - padding.bottom) / 2 - (box.y + box.height / 2) * k
    const to = zoomIdentity.translate(x, y).scale(k)
    this.#stage.interrupt()
    if (animate && !this.#calm.matches) this.#stage.transition().duration(MILLISECONDS).call(this.#zoom.transform, to)
    else this.#stage.call(this.#zoom.transform, to)
  }

  zoomBy(factor: number): void {
    this.#fitted = undefined
    this.#stage.call(this.#zoom.scaleBy, factor)
  }

  /** Move the view over the drawing, by pixels to the right and down. */
  panBy(dx: number, dy: number): void {
    const { k } = this.transform
    this.#fitted = undefined
    this.#stage.call(this.#zoom.translateBy, -dx / k, -dy / k)
  }

  destroy(): void {
    this.#stage.interrupt().on('.zoom', null)
    this.#calm.removeEventListener('change', this.#setCalm)
    this.element.removeEventListener('keydown', this.#pressKey)
  }

  #scaleFor(box: Box, { top, right, bottom, left }: Padding): number {
    const width = Math.max(1, this.#frame.width - left - right)
    const height = Math.max(1, this.#frame.height - top - bottom)
    return Math.min(width / (box.width || 1), height / (box.height || 1))
  }

  #constrain(transform: ZoomTransform): ZoomTransform {
    const { k, x, y } = transform
    const { width, height } = this.#frame
    const { x: left, y: top, width: across, height: down } = this.#page
    const within = (value: number, low: number, high: number) => Math.max(low, Math.min(high, value))
    const toX = within(x, width * LEAST_SEEN - (left + across) * k, width * (1 - LEAST_SEEN) - left * k)
    const toY = within(y, height * LEAST_SEEN - (top + down) * k, height * (1 - LEAST_SEEN) - top * k)
    return toX === x && toY === y ? transform : zoomIdentity.translate(toX, toY).scale(k)
  }

  #setCalm = (): void => {
    this.#zoom.duration(this.#calm.matches ? 0 : MILLISECONDS)
  }

  #pressKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const action = this.#keys[event.key]
    if (!action) return
    event.preventDefault()
    action()
  }

  readonly #keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => this.panBy(-KEY_PAN, 0),
    ArrowRight: () => this.panBy(KEY_PAN, 0),
    ArrowUp: () => this.panBy(0, -KEY_PAN),
    ArrowDown: () => this.panBy(0, KEY_PAN),
    '+': () => this.zoomBy(KEY_ZOOM),
    '=': () => this.zoomBy(KEY_ZOOM),
    '-': () => this.zoomBy(1 / KEY_ZOOM),
    _: () => this.zoomBy(1 / KEY_ZOOM),
    '0': () => this.fit(undefined, true),
  }
}
