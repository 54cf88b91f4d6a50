// What must not compile: tsc fails where a line after `@ts-expect-error` has no error.

import { Floorgate, type Unit } from '@floorgate/client'

export async function mistake(client: Floorgate): Promise<void> {
  const map = client.maps('floor-plates')
  const closing = { connectors: ['lift-1'] }
  // @ts-expect-error: a misspelt option
  new Floorgate({ url: 'https://floorgate.example', api_key: 'fgk_1' })
  // @ts-expect-error: a misspelt option of a copy
  client.withOptions({ timeout: 5 })
  // @ts-expect-error: the name of a filter in the address
  client.units.list({ 'per-page': 5 })
  // @ts-expect-error: a misspelt filter beside another
  client.units.list({ per_page: 5, asset_id: 'alder-court' })
  // @ts-expect-error: a filter of another list
  map.units.list({ tags: 'gym' })
  // @ts-expect-error: a value that there is not
  client.units.list({ order_by: 'size' })
  // @ts-expect-error: kinds of changes that there are not
  client.changes.follow({ kinds: ['storeys'] })
  // @ts-expect-error: an end is missing
  await map.route({ from: 'lobby' })
  // @ts-expect-error: a list of the maps, of one of them
  map.list()
  // @ts-expect-error: the resources of one map, of them all
  client.maps.locations.list()
  // @ts-expect-error: a map without an id
  client.maps().locations.list()
  // @ts-expect-error: a misspelt member in a list
  await map.distances({ sources: [{ idd: 'gym' }], targets: [] })
  // @ts-expect-error: a second misspelt member
  await map.distances({ sources: [{ id: 'gym', floorid: 'floor-1' }], targets: [] })
  // @ts-expect-error: the name of a member in GraphQL
  await map.distances({ sources: [], targets: [], distanceMethod: 'euclidean' })
  // @ts-expect-error: a number for an id
  await map.distances({ sources: [{ id: 5 }], targets: [] })
  // @ts-expect-error: targets are missing
  await map.distances({ sources: [] })
  // @ts-expect-error: a misspelt option, deep in a body
  await map.distances({ sources: [], targets: [], costing_options: { pedestrian: { modus: 'foot' } } })
  // @ts-expect-error: a member is missing
  await client.attributeGroups('views').assignments.add([{ attribute_id: 'court' }])
  // @ts-expect-error: a misspelt member of a body that may be empty
  await map.closures.set({ ...closing, lifts: [] })
  // @ts-expect-error: the list, before its iteration
  const [unit] = client.units.list()
  // @ts-expect-error: a misspelt member of a result
  const name = (await client.units.get('gym')).nam
  // @ts-expect-error: a unit without what each has
  const own: Unit = { id: 'gym' }
  void [unit, name, own]
}
