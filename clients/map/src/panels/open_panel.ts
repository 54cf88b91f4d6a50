// The panel that is open: the card, colours and amenities, routes, or the check of drawings.

import { html, nothing } from 'lit'
import type { Measure } from '../data/measures.js'
import type { Explorer } from '../explorer.js'
import type { ExplorerState } from '../state.js'
import type { Texts } from '../texts.js'
import { briefCard, type CardOptions, locationCard, unitCard } from './card.js'
import { checksPanel } from './checks.js'
import { failure } from './failure.js'
import { panelHead } from './head.js'
import { layersPanel } from './layers.js'
import { routesPanel } from './routes.js'

export interface PanelOptions {
  explorer: Explorer
  state: ExplorerState
  texts: Texts
  measure: Measure
  /** Address of the service. */
  url: string
  canRoute: boolean
  change(part: Partial<ExplorerState>): void
  onFile(file: File): void
}

export function openPanel(options: PanelOptions) {
  const { panel } = options.explorer
  const content = panel ? CONTENTS[panel](options) : nothing
  const name = panel && panel !== 'card' ? options.texts[panel] : nothing // the card has its own
  return html`<section class="panel surface" part="panel" tabindex="-1" aria-label=${name} ?hidden=${content === nothing}>${content}</section>`
}

const CONTENTS = { card, layers, routes, check }

function card({ explorer, state, texts, url, canRoute }: PanelOptions) {
  const { building, unit, unitError, groups } = explorer.data
  if (!building) return nothing
  const options: CardOptions = {
    texts,
    url,
    canRoute,
    onRoute: (end, waypoint) => explorer.startRoute(end, waypoint),
    onClose: () => explorer.select({}),
    jsonOf: (path) => explorer.jsonOf(path),
    onJson: (isJsonOpen) => explorer.set({ isJsonOpen }),
  }
  const { location } = explorer
  if (location) return locationCard(location, building, options)
  if (unit) return unitCard(unit, building, groups, options)
  const name = explorer.nameOf(state) ?? ''
  if (state.unit === undefined || unit === null) return briefCard(name, html`<p role="status">${texts.placeNotFound}</p>`, options)
  if (unitError) return briefCard(name, failure(texts, unitError, () => explorer.data.retry()), options)
  return briefCard(name, html`<p role="status">${texts.loadingDetails}</p>`, options)
}

function layers({ explorer, state: { color, tags }, texts, change }: PanelOptions) {
  const { groups, legend = [], kinds = new Map<string, number>(), layersError } = explorer.data
  return html`${panelHead({ title: texts.layers, texts, onClose: () => explorer.open(undefined) })}
  ${layersPanel({
    texts,
    problem: failure(texts, layersError, () => explorer.data.retry()),
    groups,
    color,
    legend,
    chosen: explorer.entry,
    kinds,
    tags,
    onColor: (color) => change({ color }),
    onEntry: (entry) => explorer.set({ entry }),
    onTags: (tags) => change({ tags }),
  })}`
}

function routes({ explorer, state, texts, measure, change }: PanelOptions) {
  return routesPanel({
    finder: explorer.finder,
    start: explorer.start,
    isLost: explorer.isLost,
    state,
    texts,
    measure,
    floorNames: explorer.floorNames,
    index: explorer.data.index,
    nameOf: (waypoint) => explorer.nameOf(waypoint),
    choosing: explorer.choosing,
    change,
    choose: (choosing) => explorer.set({ choosing }),
    close: () => explorer.open(undefined),
    show: (place) => explorer.show(place, place.floorId),
  })
}

function check({ explorer, texts, onFile }: PanelOptions) {
  return html`${panelHead({ title: texts.check, texts, onClose: () => explorer.open(undefined) })}
  ${checksPanel({
    checks: explorer.checks,
    texts,
    storeys: explorer.shown.storeys,
    onFile,
    onPlace: (place, floor) => explorer.show(place, floor),
    onClose: () => explorer.endCheck(),
  })}`
}
