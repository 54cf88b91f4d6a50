// Call every endpoint with the TypeScript client: node every_endpoint.js URL KEY
// It stands for a user's program: tsc checks it strictly, and the demo service answers it.

import {
  createFloorgate, FloorgateError, ForbiddenError, InvalidInputError, iterate, NotFoundError, type Schemas,
} from '@floorgate/client'

const [url = '', key = ''] = process.argv.slice(2)
const MAP = 'alder-court-floor-plates'
const DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'
const statuses: number[] = []
const client = createFloorgate({
  url,
  key,
  flags: ['references', 'unit-attributes-resource', 'distances', 'locations-resource', 'changes'],
  fetch: async (request) => {
    const response = await fetch(request)
    statuses.push(response.status)
    return response
  },
})

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

function given<T>(value: T | undefined | null): T {
  if (value === undefined || value === null) throw new Error('nothing was given')
  return value
}

async function errorOf(call: Promise<unknown>): Promise<FloorgateError> {
  const error: unknown = await call.then(() => undefined, (reason: unknown) => reason)
  if (!(error instanceof FloorgateError)) throw new Error(`no FloorgateError: ${String(error)}`)
  return error
}

/** The outlines of units in a parsed map. */
function* unitsIn(elements: Schemas['MapElement'][]): Generator<Schemas['MapUnit']> {
  for (const element of elements) {
    if (element.type === 'Unit') yield element
    else if ('elements' in element) yield* unitsIn(element.elements)
  }
}

const onMap = { path: { map: MAP } }
const assets = await all(iterate(client, '/v1/assets', { query: { 'per-page': 1 } }))
const asset = given(assets[0])
await client.GET('/v1/assets/{asset}', { params: { path: { asset: asset.id } } })
const floors = await all(iterate(client, '/v1/assets/{asset}/floors', { path: { asset: asset.id } }))
await client.GET('/v1/assets/{asset}/floors/{floor}', {
  params: { path: { asset: asset.id, floor: given(floors[0]).id } },
})
await all(iterate(client, '/v1/assets/references'))
const units = await all(iterate(client, '/v1/units', { query: { 'per-page': 7 } }))
const oneUnit = { params: { path: { unit: given(units[0]).id } } }
const { data: unit } = await client.GET('/v1/units/{unit}', oneUnit)
const { data: again } = await client.GET('/v1/units/{unit}', oneUnit)
const isReused = statuses.at(-1) === 304 && JSON.stringify(unit) === JSON.stringify(again)
const references = await all(iterate(client, '/v1/units/references', { query: { asset: asset.id } }))

const maps = await all(iterate(client, '/v1/maps', { query: { tags: 'pathfinding' } }))
await client.GET('/v1/maps/{map}', { params: onMap })
const backgrounds = await all(iterate(client, '/v1/maps/{map}/backgrounds', onMap))
await client.GET('/v1/maps/{map}/backgrounds/{background}', {
  params: { path: { map: MAP, background: given(backgrounds[0]).id } },
})
await client.GET('/v1/maps/{map}/levels/tags', { params: onMap })
const unitsOnMap = await all(iterate(client, '/v1/maps/{map}/units', onMap))
await client.GET('/v1/maps/{map}/units/{unit}', {
  params: { path: { map: MAP, unit: given(unitsOnMap[0]).id } },
})
const { data: parsed } = await client.GET('/v1/maps/{map}/parsed', { params: onMap })
const { data: geojson } = await client.GET('/v1/maps/{map}/geojson', { params: onMap })
if (geojson.features.length === 0) throw new Error('no features')
await client.GET('/v1/maps/{map}/picture', { params: onMap, parseAs: 'text' })
const { data: drawing } = await client.POST('/v1/maps/parse', { body: DRAWING })
const path = drawing.elements[0]

const { data: locations } = await client.GET('/v1/unitmaps/{unitMapId}/locations', {
  params: { path: { unitMapId: MAP } },
})
await client.GET('/v1/maps/{map}/locations', { params: { ...onMap, query: { tags: 'svc:amenity==yes' } } })
const byPage = { path: { unitMapId: MAP }, query: { 'per-page': 7, tags: 'svc:amenity' } }
const byLink = await all(iterate(client, '/v1/unitmaps/{unitMapId}/locations', byPage))
// @ts-expect-error: a list without the map that it is of must not compile
iterate(client, '/v1/unitmaps/{unitMapId}/locations', { query: {} })
// @ts-expect-error: nor without any parameters
iterate(client, '/v1/maps/{map}/units')
const [first, ...others] = locations.data.slice(0, 4).map(({ id }): Schemas['Waypoint'] => ({ id }))
const body: Schemas['DistanceRequest'] = {
  data: { sources: [given(first)], targets: others, costing_options: { pedestrian: { mode: 'wheelchair' } } },
}
// @ts-expect-error: a misspelt floor must not compile
const misspelt: Schemas['Waypoint'] = { x: 1, y: 2, floorid: 'alder-court-floor-1' }
const { data: matrix } = await client.POST('/v1/unitmaps/{unitMapId}/distance-matrix', {
  params: { path: { unitMapId: MAP } },
  body,
})
await client.POST('/v1/maps/{map}/distance-matrix', { params: onMap, body })
const from = given(given(first).id)
await client.GET('/v1/maps/{map}/route', { params: { ...onMap, query: { from, to: given(given(others[0]).id) } } })
await client.GET('/v1/maps/{map}/nearest', { params: { ...onMap, query: { from } } })
await client.GET('/v1/maps/{map}/reachable', { params: { ...onMap, query: { from, minutes: 1 } } })
await all(iterate(client, '/v1/maps/{map}/closable', onMap))
const { data: closed } = await client.GET('/v1/maps/{map}/closures', { params: onMap })
const closing = await errorOf(client.PUT('/v1/maps/{map}/closures', { params: onMap, body: closed }))

const { data: groups } = await client.GET('/v1/units/attribute-groups')
const group = { path: { 'group-id': given(groups.data[0]).group_id } }
const assigned = await all(iterate(client, '/v1/units/attribute-groups/{group-id}/assignments', group))
const some = { params: group, body: { data: assigned.slice(0, 3) } }
const { data: now } = await client.GET('/v1/changes')
const removed = await client.POST('/v1/units/attribute-groups/{group-id}/assignments/remove', some)
await client.PUT('/v1/units/attribute-groups/{group-id}/assignments', some)
const { data: changes } = await client.GET('/v1/changes', {
  params: { query: { after: now.cursor, kinds: ['units', 'attribute_assignments'] } },
})

const missing = await errorOf(client.GET('/v1/units/{unit}', { params: { path: { unit: 'none' } } }))
const invalid = await errorOf(client.GET('/v1/units', { params: { query: { page: 0, 'per-page': 0 } } }))
if (!(missing instanceof NotFoundError && invalid instanceof InvalidInputError && closing instanceof ForbiddenError)) {
  throw new Error('errors have other types')
}
console.log(
  JSON.stringify({
    read_directory: {
      assets: assets.map(({ id }) => id),
      floor: given(floors[0]).id,
      units: units.map(({ id }) => id),
      unit,
      references: references.length,
    },
    read_map: {
      maps: maps.map(({ id }) => id),
      outlines: Object.fromEntries([...unitsIn(parsed.elements)].map(({ id, shape }) => [id, shape.type])),
      path: path?.type === 'Path' && path.d,
      parsed,
    },
    measure: {
      distances: given(matrix.data.sources[0]).targets.map(({ distance }) => distance),
      closing: closing.code,
    },
    assign: { assigned: assigned.length, removed: removed.response.status,
      changes: changes.data.map(({ kind, operation }) => [kind, operation]),
    },
    fail: { missing: missing.code, fields: Object.keys(invalid.fields).sort() },
    isReused,
    byLink: byLink.map(({ id }) => id),
    unused: misspelt.x,
  }),
)
