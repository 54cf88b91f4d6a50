// What the explorer shows: what a link holds, and what `statechange` announces.

export const MODES = ['foot', 'wheelchair'] as const
export const AVOIDABLES = ['stairs', 'escalators', 'lifts', 'outdoors'] as const
export const THEMES = ['auto', 'light', 'dark'] as const

export type Mode = (typeof MODES)[number]
export type Avoidable = (typeof AVOIDABLES)[number]
export type Theme = (typeof THEMES)[number]

/** Where a route starts or ends: a unit, a location, or a position on a floor in the map's own coordinates. */
export interface Waypoint {
  unit?: string
  location?: string
  x?: number
  y?: number
  floor?: string
}

export interface ExplorerState {
  map?: string
  /** Id of the floor that is shown. */
  floor?: string
  /** Id of the unit that is selected. */
  unit?: string
  /** Id of the location that is selected, if it is no unit's. */
  location?: string
  /** Where the person is, as a sign at a door says: routes start there unless `from` says otherwise. */
  here?: Waypoint
  from?: Waypoint
  to?: Waypoint
  mode: Mode
  avoid: readonly Avoidable[]
  /** Show what is within so many minutes of `from`. */
  minutes?: number
  /** Which amenities are shown: a filter of tags, such as `amenity==gym`. */
  tags?: string
  /** Id of the attribute group that units are coloured by. */
  color?: string
  theme: Theme
}

export const INITIAL_STATE: ExplorerState = { mode: 'foot', avoid: [], theme: 'auto' }
