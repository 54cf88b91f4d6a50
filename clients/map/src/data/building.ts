// A map and what is in it, as the key may see it.

import { type Api, FloorgateError, iterate, readAll, type Schemas } from './api.js'

export type UnitMap = Schemas['Map']
export type Floor = Schemas['Floor']
export type Unit = Schemas['Unit']
export type Location = Schemas['Location']
export type ParsedMap = Schemas['ParsedMap']
export type LevelTag = Schemas['LevelTag']

const PER_PAGE = 10_000

export interface Building {
  map: UnitMap
  assetName: string
  /** In storey order, the lowest first. */
  floors: Floor[]
  units: ReadonlyMap<string, Unit>
  /** All locations that are no unit's, by id. */
  amenities: ReadonlyMap<string, Location>
  /** The location of each unit that has one, by the id of the unit. */
  locationsOfUnits: ReadonlyMap<string, Location>
}

/** What the first picture needs. */
export interface MapStart {
  map: UnitMap
  floors: Floor[]
  assetName: string
  /** Null if the map has no drawing. */
  drawing: ParsedMap | null
}

const tagOf = (location: Location, key: string) => location.tags.find((tag) => tag.key === key)?.value

/** The kinds of an amenity, such as `amenity==gym`: its tags but those of the service. */
export function kindsOf(location: Location): string[] {
  return location.tags.filter(({ key }) => KIND_KEYS.has(key)).map(({ key, value }) => `${key}==${value}`)
}

const KIND_KEYS = new Set(['amenity', 'leisure', 'shop', 'tourism', 'office', 'sport', 'healthcare', 'room'])

async function orNull<T>(found: Promise<T>): Promise<T | null> {
  return found.catch((error) => {
    if (error instanceof FloorgateError && error.status === 404) return null
    throw error
  })
}

/** Read what the first picture of a map needs: three requests, of which two are sent at once. */
export async function readStart({ rest }: Api, id: string): Promise<MapStart> {
  const drawing = orNull(rest.GET('/v1/maps/{map}/parsed', { params: { path: { map: id } } }))
  drawing.catch(() => undefined) // awaited below, unless the map cannot be read
  const { data: map } = await rest.GET('/v1/maps/{map}', { params: { path: { map: id } } })
  const path = { asset: map.asset_id }
  const [floors, asset, parsed] = await Promise.all([
    readAll(iterate(rest, '/v1/assets/{asset}/floors', { path, query: { 'per-page': PER_PAGE } })),
    rest.GET('/v1/assets/{asset}', { params: { path } }),
    drawing,
  ])
  const inOrder = (floors ?? []).sort((a, b) => a.sort - b.sort)
  return { map, floors: inOrder, assetName: asset.data.name, drawing: parsed?.data ?? null }
}

/** Read the units and locations of a map. Without the permission for locations, there are none. */
export async function readBuilding({ rest }: Api, { map, floors, assetName }: MapStart): Promise<Building> {
  const parameters = { path: { map: map.id }, query: { 'per-page': PER_PAGE } }
  const [units, locations] = await Promise.all([
    readAll(iterate(rest, '/v1/maps/{map}/units', parameters)),
    readAll(iterate(rest, '/v1/maps/{map}/locations', parameters)),
  ])
  const amenities = new Map<string, Location>()
  const locationsOfUnits = new Map<string, Location>()
  for (const location of locations ?? []) {
    const unit = tagOf(location, 'svc:id')
    if (unit === undefined) amenities.set(location.id, location)
    else locationsOfUnits.set(unit, location)
  }
  const byId = new Map((units ?? []).map((unit) => [unit.id, unit]))
  return { map, assetName, floors, units: byId, amenities, locationsOfUnits }
}

/** Read which locations have the tags of a filter. */
export async function readTagged({ rest }: Api, map: string, tags: string): Promise<Location[]> {
  const parameters = { path: { map }, query: { 'per-page': PER_PAGE, tags } }
  return (await readAll(iterate(rest, '/v1/maps/{map}/locations', parameters))) ?? []
}

/** The floor that a level of the drawing shows: its tags name it. */
export function floorOf(tags: Readonly<Record<string, string>>, floors: readonly Floor[]): Floor | undefined {
  const values = new Set(Object.values(tags))
  return floors.find(({ id }) => values.has(id))
}
