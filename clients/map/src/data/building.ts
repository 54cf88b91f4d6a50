// A map and what is in it, as the key may see it.

import { type Api, orNull, readAll, type Schemas } from './api.js'

export type UnitMap = Schemas['Map']
export type Floor = Schemas['Floor']
export type Unit = Schemas['Unit']
export type Location = Schemas['Location']
export type ParsedMap = Schemas['ParsedMap']

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

/** Read what the first picture of a map needs: three requests, of which two are sent at once. */
export async function readStart({ rest }: Api, id: string): Promise<MapStart> {
  const drawing = orNull(rest.maps(id).parsed(), 404)
  drawing.catch(() => undefined) // awaited below, unless the map cannot be read
  const map = await rest.maps.get(id)
  const [floors, asset, parsed] = await Promise.all([
    readAll(rest.assets(map.asset_id).floors.list({ per_page: PER_PAGE })),
    rest.assets.get(map.asset_id),
    drawing,
  ])
  const inOrder = (floors ?? []).sort((a, b) => a.sort - b.sort)
  return { map, floors: inOrder, assetName: asset.name, drawing: parsed }
}

/** Read the units and locations of a map. Without the permission for locations, there are none. */
export async function readBuilding({ rest }: Api, { map, floors, assetName }: MapStart): Promise<Building> {
  const drawn = rest.maps(map.id)
  const [units, locations] = await Promise.all([
    readAll(drawn.units.list({ per_page: PER_PAGE })),
    readAll(drawn.locations.list({ per_page: PER_PAGE })),
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
  return (await readAll(rest.maps(map).locations.list({ per_page: PER_PAGE, tags }))) ?? []
}

/** The floor that a level of the drawing shows: its tags name it. */
export function floorOf(tags: Readonly<Record<string, string>>, floors: readonly Floor[]): Floor | undefined {
  const values = new Set(Object.values(tags))
  return floors.find(({ id }) => values.has(id))
}
