// The canvases: a sharp picture of what is in view and a margin around it, above a coarse one of
// the whole page. While the view moves they are only moved and scaled by CSS; new pictures are
// drawn on a canvas that is not shown, some milliseconds a frame, and then change places.
// Decision: docs/decisions/server/pages.md

import { type Content, paint, type Sheet } from './paint.js'
import type { Box } from './types.js'

/** Pixels = drawing * k + (x, y), as in d3-zoom. */
export interface Transform {
  k: number
  x: number
  y: number
}

export interface Frame {
  width: number
  height: number
}

const MILLISECONDS_A_FRAME = 6
const MARGIN = 0.3 // of the view, on each side
const NEW_MARGIN = 0.08 // a new picture is drawn when less is left while the view moves
const COARSEST = 1.6 // a picture enlarged or reduced more than this is drawn anew while zooming
const MAX_DENSITY = 2
const MAX_PIXELS = 16_000_000
const OVERVIEW_PIXELS = 1024

interface Job {
  steps: Generator<void>
  sheet: Sheet
  finish: (sheet: Sheet) => void
}

export class Pictures {
  readonly #sheets: [Sheet, Sheet, Sheet]
  #front: Sheet | undefined
  #overview: Sheet | undefined
  #content: Content | undefined
  #page: Box = { x: 0, y: 0, width: 0, height: 0 }
  #job: Job | undefined
  #stale = false // of the picture in front
  #overviewStale = true
  #toldDrawn = true

  /** Put the canvases into `parent`; `drawn` is called when the picture is complete and sharp. */
  constructor(parent: HTMLElement, private readonly drawn: () => void) {
    this.#sheets = [newSheet(parent), newSheet(parent), newSheet(parent)]
  }

  /** Show something else; `at once` if what is shown until it is drawn would mislead. */
  setContent(content: Content, page: Box, atOnce: boolean): void {
    // The overview has no labels.
    this.#overviewStale ||= (['level', 'colors', 'fills', 'lit'] as const).some((part) => content[part] !== this.#content?.[part])
    this.#content = content
    this.#page = page
    this.#job = undefined
    this.#stale = true
    this.#toldDrawn = false
    if (atOnce) {
      this.#hide(this.#front)
      this.#hide(this.#overview)
      this.#front = this.#overview = undefined
    }
  }

  /** Tell when all is drawn once more: the view has moved. */
  expectMore(): void {
    this.#toldDrawn = false
  }

  /** Do a frame's share of work; true if there is more. `moving` is during a gesture. */
  update(transform: Transform, frame: Frame, moving: boolean): boolean {
    if (!this.#content || !(frame.width > 0 && frame.height > 0)) return false
    if (!this.#job) this.#job = this.#nextJob(transform, frame, moving)
    if (this.#job) this.#work(this.#job, this.#front ? MILLISECONDS_A_FRAME : Infinity)
    for (const sheet of [this.#overview, this.#front]) if (sheet) place(sheet, transform)
    const more = this.#job !== undefined || this.#needsDetail(transform, frame, moving) || this.#needsOverview(moving)
    if (!this.#toldDrawn && !moving && !this.#needsDetail(transform, frame, false)) {
      this.#toldDrawn = true
      this.drawn()
    }
    return more
  }

  #work(job: Job, milliseconds: number): void {
    const end = performance.now() + milliseconds
    do {
      if (job.steps.next().done) {
        this.#job = undefined
        job.finish(job.sheet)
        return
      }
    } while (performance.now() < end)
  }

  #nextJob(transform: Transform, frame: Frame, moving: boolean): Job | undefined {
    if (this.#needsDetail(transform, frame, moving)) return this.#detail(transform, frame)
    return this.#needsOverview(moving) ? this.#wholePage() : undefined
  }

  #needsDetail({ k, x, y }: Transform, { width, height }: Frame, moving: boolean): boolean {
    const front = this.#front
    if (!front || this.#stale) return true
    const ratio = k / front.scale
    const sharp = moving ? ratio < COARSEST && ratio > 1 / COARSEST : Math.abs(ratio - 1) < 1e-6
    // more than the view while it moves, so that the new picture is ready in time
    const margin = moving ? NEW_MARGIN : 0
    const [left, top] = [-x / k - (margin * width) / k, -y / k - (margin * height) / k]
    const [right, bottom] = [(width * (1 + margin) - x) / k, (height * (1 + margin) - y) / k]
    const { region, density } = front
    const tolerance = 0.5 / k
    const covers =
      region.x <= left + tolerance && region.y <= top + tolerance &&
      region.x + region.width >= right - tolerance && region.y + region.height >= bottom - tolerance
    return !sharp || !covers || (!moving && density !== densityOf(frameOf(front)))
  }

  // With its margins, the picture in front may hold the whole page.
  #needsOverview(moving: boolean): boolean {
    return this.#overviewStale && !moving && this.#front !== undefined
  }

  #detail({ k, x, y }: Transform, frame: Frame): Job {
    const [across, down] = [Math.round(frame.width * MARGIN), Math.round(frame.height * MARGIN)]
    const region = {
      x: (-x - across) / k,
      y: (-y - down) / k,
      width: (frame.width + 2 * across) / k,
      height: (frame.height + 2 * down) / k,
    }
    const sheet = this.#spare()
    prepare(sheet, region, k)
    const finish = (finished: Sheet) => {
      this.#stale = false
      this.#hide(this.#front)
      finished.canvas.hidden = false
      finished.canvas.style.zIndex = '1'
      this.#front = finished
    }
    return { steps: paint(sheet, this.#content!, true), sheet, finish }
  }

  #wholePage(): Job {
    const sheet = this.#spare()
    prepare(sheet, this.#page, OVERVIEW_PIXELS / (Math.max(this.#page.width, this.#page.height) || 1), 1)
    const finish = (finished: Sheet) => {
      this.#overviewStale = false
      this.#hide(this.#overview)
      finished.canvas.hidden = false
      finished.canvas.style.zIndex = '0'
      this.#overview = finished
    }
    return { steps: paint(sheet, this.#content!, false), sheet, finish }
  }

  #spare(): Sheet {
    return this.#sheets.find((sheet) => sheet !== this.#front && sheet !== this.#overview)!
  }

  #hide(sheet: Sheet | undefined): void {
    if (sheet) sheet.canvas.hidden = true
  }
}

function newSheet(parent: HTMLElement): Sheet {
  const canvas = parent.appendChild(document.createElement('canvas'))
  canvas.hidden = true
  return { canvas, region: { x: 0, y: 0, width: 0, height: 0 }, scale: 1, density: 1 }
}

function frameOf({ region, scale }: Sheet): Frame {
  return { width: region.width * scale, height: region.height * scale }
}

function densityOf({ width, height }: Frame): number {
  return Math.min(MAX_DENSITY, window.devicePixelRatio, Math.sqrt(MAX_PIXELS / (width * height)))
}

function prepare(sheet: Sheet, region: Box, scale: number, density?: number): void {
  Object.assign(sheet, { region, scale })
  const { width, height } = frameOf(sheet)
  sheet.density = density ?? densityOf({ width, height })
  const { canvas } = sheet
  // setting the size of a canvas clears it, so only a size that differs is set
  const [across, down] = [Math.ceil(width * sheet.density - 1e-6), Math.ceil(height * sheet.density - 1e-6)]
  if (canvas.width !== across) canvas.width = across
  if (canvas.height !== down) canvas.height = down
  canvas.style.width = `${across / sheet.density}px`
  canvas.style.height = `${down / sheet.density}px`
}

function place({ canvas, region, scale }: Sheet, { k, x, y }: Transform): void {
  canvas.style.transform = `translate(${region.x * k + x}px, ${region.y * k + y}px) scale(${k / scale})`
}
