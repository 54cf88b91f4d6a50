// Call every endpoint with the TypeScript client: node every_endpoint.js URL KEY
// It stands for a user's program: tsc checks it strictly, and the demo service answers it.

import {
  Floorgate, FloorgateError, ForbiddenError, InvalidInputError, NotFoundError,
  type MapElement, type MapUnit, type Waypoint,
} from '@floorgate/client'

const [url = '', key = ''] = process.argv.slice(2)
const DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'
const requests: string[] = []
const statuses: number[] = []
const client = new Floorgate({
  url,
  key,
  flags: ['references', 'unit-attributes-resource', 'distances', 'locations-resource', 'changes'],
  async fetch(url, init) {
    const response = await fetch(url, init)
    requests.push(`${init.method} ${new URL(url).pathname}`)
    statuses.push(response.status)
    return response
  },
})

async function all<T>(items: AsyncIterable<T>): Promise<[T, ...T[]]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return [given(found[0]), ...found.slice(1)]
}

function given<T>(value: T | undefined | null): T {
  if (value === undefined || value === null) throw new Error('nothing was given')
  return value
}

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(() => undefined, (reason: unknown) => reason)
}

/** The outlines of units in a parsed map. */
function* unitsIn(elements: MapElement[]): Generator<MapUnit> {
  for (const element of elements) {
    if (element.type === 'Unit') yield element
    else if ('elements' in element) yield* unitsIn(element.elements)
  }
}

const assets = await all(client.assets.list({ per_page: 1 }))
const asset = await client.assets.get(assets[0].id)
const { floors } = client.assets(asset.id)
const [floor] = await all(floors.list({ order_by: 'sort' }))
await floors.get(floor.id)
const assetReferences = await all(client.assets.references.list())
const units = await all(client.units.list({ per_page: 7 }))
const unit = await client.units.get(units[0].id)
const again = await client.units.get(unit.id)
const isReused = statuses.at(-1) === 304 && JSON.stringify(unit) === JSON.stringify(again)
const references = await all(client.units.references.list({ asset: asset.id, updated_since: new Date(0) }))

const maps = await all(client.maps.list({ tags: 'pathfinding' }))
const map = client.maps('alder-court-floor-plates')
await client.maps.get('alder-court-floor-plates')
const [background] = await all(map.backgrounds.list())
await map.backgrounds.get(background.id)
const levelTags = await map.levelTags.list()
const [unitOnMap] = await all(map.units.list())
await map.units.get(unitOnMap.id)
const parsed = await map.parsed()
given((await map.geojson()).features[0])
const picture = await map.picture({ level: floor.id, format: 'png' })
const path = (await client.maps.parse(DRAWING, { force: true })).elements[0]

const tagged = await all(map.locations.list({ per_page: 7, tags: 'svc:amenity' }))
const [first, second, third] = tagged.map(({ id }): Waypoint => ({ id }))
const matrix = await map.distances({
  sources: [given(first)],
  targets: [given(second), given(third)],
  costing_options: { pedestrian: { mode: 'wheelchair' } },
})
const from = tagged[0].id
const route = await map.route({ from, to: given(tagged[1]).id, avoid: ['stairs'], steps: true })
await map.nearest({ from })
await map.reachable({ from, minutes: 1 })
await all(map.closures.candidates())
const closing = await errorOf(map.closures.set(await map.closures.get()))

const [{ group_id }] = [given((await client.attributeGroups.list())[0])]
const { assignments } = client.attributeGroups(group_id)
const assigned = await all(assignments.list())
const now = await client.changes.list()
await assignments.remove(assigned.slice(0, 3))
await assignments.add(assigned.slice(0, 3))
const changes: (string | null)[][] = []
for await (const batch of client.changes.follow({ after: now.cursor, asset: asset.id, pause_seconds: 0.1 })) {
  changes.push(...batch.data.map(({ kind, operation }) => [kind, operation]))
  if (changes.length === 6) break
}

const missing = await errorOf(client.units.get('a/b c'))
const invalid = await errorOf(all(client.units.list({ page: 0, per_page: 0 })))
const query = { query: '{ assets { totalCount } }' }
const graphql = await (await client.request('POST', '/graphql', { json: query })).json()
if (!(missing instanceof NotFoundError && invalid instanceof InvalidInputError && closing instanceof ForbiddenError)) {
  throw new Error('errors have other types')
}
if (!(missing instanceof FloorgateError && missing instanceof Error)) throw new Error('one is not an error')
console.log(
  JSON.stringify({
    read_directory: {
      assets: assets.map(({ id }) => id),
      floor: floor.id,
      units: units.map(({ id }) => id),
      unit: unit.id,
      created: unit.created_at,
      references: references.length,
      asset_references: assetReferences.length,
    },
    read_map: {
      maps: maps.map(({ id }) => id),
      level_tags: levelTags.map(({ key }) => key),
      outlines: Object.fromEntries([...unitsIn(parsed.elements)].map(({ id, shape }) => [id, shape.type])),
      path: path?.type === 'Path' && path.d,
      parsed,
    },
    measure: {
      distances: given(matrix.sources[0]).targets.map(({ distance }) => distance),
      closing: closing.code,
    },
    assign: { assigned: assigned.length, changes },
    fail: { missing: missing.code, fields: Object.keys(invalid.fields).sort() },
    isReused,
    graphql,
    picture: picture.type,
    requests,
    steps: given(route?.steps).length,
    tagged: tagged.map(({ id }) => id),
  }),
)
