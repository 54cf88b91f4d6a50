// What the card of a unit shows, in one query, and how to ask for the same with other tools.

import { type Api, FLAGS } from './api.js'

export const UNIT_QUERY = `query ShowUnit($id: ID!) {
  unit(id: $id) {
    id
    name
    asset { id name }
    floor { id name label }
    attributes(perPage: 100) {
      data { groupId attribute { attributeName } }
    }
    references(perPage: 100) { data { key value } }
  }
}`

export interface UnitDetails {
  id: string
  name: string
  asset: { id: string; name: string } | null
  floor: { id: string; name: string; label: string } | null
  /** Null, as the references, if the key may not read them. */
  attributes: { data: { groupId: string; attribute: { attributeName: string } | null }[] } | null
  references: { data: { key: string; value: string }[] } | null
}

/** Read a unit, or null if the key does not see it. */
export async function readUnit(api: Api, id: string, signal: AbortSignal): Promise<UnitDetails | null> {
  const { data, errors } = await api.graphql<{ unit: UnitDetails | null }>(UNIT_QUERY, { id }, signal)
  if (!data) throw new Error(errors?.[0]?.message)
  return data.unit
}

/** The same resource by REST: its path, and the operation of the reference that describes it. */
export interface RestResource {
  path: string
  tag: string
  operation: string
}

export function unitResource(id: string): RestResource {
  return { path: `/v1/units/${encodeURIComponent(id)}`, tag: 'Units', operation: 'getUnit' }
}

export function locationResource(map: string, id: string): RestResource {
  const path = `/v1/maps/${encodeURIComponent(map)}/locations?ids=${encodeURIComponent(id)}`
  return { path, tag: 'Locations', operation: 'listMapLocations' }
}

export const LOCATION_QUERY = `query ShowLocation($map: ID!, $ids: [ID!]) {
  map(id: $map) {
    locations(ids: $ids) {
      data { id name x y floors { id } tags { key value } }
    }
  }
}`

/** A command line for a resource; the key stays a variable of the shell. */
export function curlOf(url: string, path: string): string {
  return `curl '${url}${path}' -H "API-Key: $KEY" \\\n  -H 'Experimental-Flags: ${FLAGS.join(',')}'`
}
