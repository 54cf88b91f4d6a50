// The card of what is selected: a unit, or another location such as a gym.

import { html, nothing, type TemplateResult } from 'lit'
import { until } from 'lit/directives/until.js'
import { FLAGS } from '../data/api.js'
import type { AttributeGroup } from '../data/attributes.js'
import type { Building, Location } from '../data/building.js'
import { curlOf, LOCATION_QUERY, locationResource, type RestResource, UNIT_QUERY, type UnitDetails, unitResource } from '../data/details.js'
import { queryLink, referenceLink } from '../links.js'
import type { Waypoint } from '../state.js'
import { panelHead } from './head.js'
import type { Texts } from '../texts.js'

export interface CardOptions {
  texts: Texts
  /** Address of the service. */
  url: string
  canRoute: boolean
  onRoute(end: 'from' | 'to', waypoint: Waypoint): void
  onClose(): void
  /** What a path answers, once the JSON is opened. */
  jsonOf(path: string): Promise<string> | undefined
  onJson(isOpen: boolean): void
}

/** The card of a unit. Parts that the key may not read are absent. */
export function unitCard(unit: UnitDetails, building: Building, groups: AttributeGroup[] | null, options: CardOptions) {
  const { texts } = options
  const location = building.locationsOfUnits.get(unit.id)
  const parts = [
    fact(texts.floor, unit.floor?.label || unit.floor?.name),
    fact(texts.asset, unit.asset?.name),
    ...attributesByGroup(unit, groups).map(([group, names]) => fact(group, names.join(', '))),
    ...(unit.references?.data ?? []).map(({ key, value }) => fact(key, value)),
    location && fact(texts.location, position(location)),
  ]
  const waypoint = location ? { unit: unit.id } : undefined
  return card(unit.name, parts, waypoint, options, examples(unitResource(unit.id), UNIT_QUERY, { id: unit.id }, options))
}

/** A card that says why there is no more to show, or that there will be. */
export function briefCard(name: string, content: unknown, { texts, onClose }: Pick<CardOptions, 'texts' | 'onClose'>) {
  return html`<article class="card" part="card" aria-label=${name || nothing}>${panelHead({ title: name, texts, onClose })} ${content}</article>`
}

/** The card of a location that is no unit's. */
export function locationCard(location: Location, building: Building, options: CardOptions) {
  const { texts } = options
  const floors = location.floors.map(({ id }) => building.floors.find((floor) => floor.id === id)?.label ?? id)
  const parts = [
    fact(texts.floor, floors.join(', ')),
    fact(texts.asset, building.assetName),
    fact(texts.location, position(location)),
    fact(texts.tags, location.tags.map(({ key, value }) => `${key}=${value}`).join(', ')),
  ]
  const variables = { map: building.map.id, ids: [location.id] }
  const same = examples(locationResource(building.map.id, location.id), LOCATION_QUERY, variables, options)
  return card(location.name, parts, { location: location.id }, options, same)
}

function card(
  name: string,
  parts: unknown[],
  waypoint: Waypoint | undefined,
  { texts, canRoute, onRoute, onClose }: CardOptions,
  same: TemplateResult,
) {
  return html`<article class="card" part="card" aria-label=${name}>
    ${panelHead({ title: name, texts, onClose })}
    ${waypoint && canRoute
      ? html`<p class="actions">
          <button class="primary" @click=${() => onRoute('to', waypoint)}>${texts.routeTo}</button>
          <button @click=${() => onRoute('from', waypoint)}>${texts.routeFrom}</button>
        </p>`
      : nothing}
    <slot name="card"></slot>
    <dl>${parts}</dl>
    ${same}
  </article>`
}

function fact(name: string, value: string | undefined) {
  return value ? html`<div><dt>${name}</dt><dd>${value}</dd></div>` : nothing
}

function position({ x, y }: { x: number; y: number }): string {
  return `${x}, ${y}`
}

/** The names of a unit's attributes by the name of their group, in the order of the groups. */
function attributesByGroup(unit: UnitDetails, groups: AttributeGroup[] | null): [string, string[]][] {
  const found = unit.attributes?.data ?? []
  const named = (groups ?? []).map(({ group_id, group_name }): [string, string[]] => [
    group_name,
    found.flatMap(({ groupId, attribute }) => (groupId === group_id && attribute ? [attribute.attributeName] : [])),
  ])
  return named.filter(([, names]) => names.length)
}

/** How to get the same from the API: by REST, as a command line, and with GraphQL. */
function examples(resource: RestResource, query: string, variables: object, { texts, url, jsonOf, onJson }: CardOptions) {
  const reference = url + referenceLink(resource.tag, resource.operation)
  const json = jsonOf(resource.path)
  const graphiql = url + queryLink({ query, variables, flags: FLAGS })
  // a page of the service itself gives the key of this tab to the tab that it opens
  const rel = new URL(url, location.href).origin === location.origin ? 'opener' : 'noopener'
  return html`
    <details name="same" ?open=${json !== undefined} @toggle=${({ target }: Event) => onJson((target as HTMLDetailsElement).open)}>
      <summary>${texts.asJson}</summary>
      <pre tabindex="0">GET ${resource.path}</pre>
      ${json ? html`<pre tabindex="0">${until(json, texts.loadingDetails)}</pre>` : nothing}
      <a href=${reference} target="_blank" rel=${rel}>${texts.openReference}</a>
    </details>
    <details name="same">
      <summary>${texts.asGraphql}</summary>
      <pre tabindex="0">${query}</pre>
      <a href=${graphiql} target="_blank" rel=${rel}>${texts.openGraphiql}</a>
    </details>
    <details name="same">
      <summary>${texts.asCurl}</summary>
      <pre tabindex="0">${curlOf(url, resource.path)}</pre>
      <a href=${reference} target="_blank" rel=${rel}>${texts.openReference}</a>
    </details>
  `
}
