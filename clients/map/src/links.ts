// Links: what the explorer shows as the query of its address, and addresses in GraphiQL and the reference.

import {
  AVOIDABLES,
  type Avoidable,
  type ExplorerState,
  INITIAL_STATE,
  MODES,
  THEMES,
  type Waypoint,
} from './state.js'

const NUMBER = '-?\\d{1,12}(?:\\.\\d{1,12})?'
const POSITION = new RegExp(`^(${NUMBER}),(${NUMBER}),(.+)$`, 's')
const UNIT = 'unit:'
const TEXTS = ['map', 'floor', 'unit', 'location', 'tags', 'color'] as const
/** As the service has it for ids; longer values are dropped, so that no link breaks the page. */
const MAX_CHARACTERS = 2_000
/** The longest way that the service looks for. */
const MAX_MINUTES = 60

/** Read a waypoint in the form that the REST API has: `unit:` and an id, `x,y,floor`, or the id of a location. */
export function readWaypoint(text: string): Waypoint {
  const position = POSITION.exec(text)
  if (position) return { x: Number(position[1]), y: Number(position[2]), floor: position[3]! }
  return text.startsWith(UNIT) ? { unit: text.slice(UNIT.length) } : { location: text }
}

/** The inverse of `readWaypoint`, with positions to two decimals. */
export function writeWaypoint({ unit, location, x, y, floor }: Waypoint): string {
  if (unit !== undefined) return UNIT + unit
  if (location !== undefined) return location
  return `${round(x!)},${round(y!)},${floor}`
}

const round = (value: number) => Math.round(value * 100) / 100

const isOneOf = <T extends string>(values: readonly T[], value: string | null): value is T =>
  (values as readonly (string | null)[]).includes(value)

/** Read what a link shows from the query of its address. What it does not know, or cannot read, is left out. */
export function readLink(search: string): Partial<ExplorerState> {
  const query = new URLSearchParams(search)
  const get = (name: string) => {
    const value = query.get(name)
    return value && value.length <= MAX_CHARACTERS ? value : null
  }
  const state: { -readonly [K in keyof ExplorerState]?: ExplorerState[K] } = {}
  for (const name of TEXTS) {
    const value = get(name)
    if (value) state[name] = value
  }
  for (const name of ['here', 'from', 'to'] as const) {
    const value = get(name)
    if (value) state[name] = readWaypoint(value)
  }
  const [mode, theme, minutes] = [get('mode'), get('theme'), Number(get('minutes'))]
  if (isOneOf(MODES, mode)) state.mode = mode
  if (isOneOf(THEMES, theme)) state.theme = theme
  if (minutes > 0) state.minutes = Math.min(minutes, MAX_MINUTES)
  const avoid = (get('avoid') ?? '').split(',').filter((each): each is Avoidable => isOneOf(AVOIDABLES, each))
  if (avoid.length) state.avoid = [...new Set(avoid)]
  return state
}

/** Write what is shown as the query of an address: `?map=…`, or an empty text. Defaults are left out. */
export function writeLink(state: Readonly<Partial<ExplorerState>>): string {
  const { map, floor, unit, location, here, from, to, mode, avoid = [], minutes, tags, color, theme } = state
  const values = {
    map,
    floor,
    unit,
    location,
    here: here && writeWaypoint(here),
    from: from && writeWaypoint(from),
    to: to && writeWaypoint(to),
    mode: mode === INITIAL_STATE.mode ? undefined : mode,
    avoid: avoid.join(','),
    minutes,
    tags,
    color,
    theme: theme === INITIAL_STATE.theme ? undefined : theme,
  }
  const present = Object.entries(values).flatMap(([name, value]) => (value ? [[name, String(value)]] : []))
  const query = new URLSearchParams(present).toString().replace(/%3A/g, ':').replace(/%2C/g, ',') // as people write them
  return query && `?${query}`
}

/**
 * The path in the service that opens a query in GraphiQL, as a tab that does not run by itself, and switches on the
 * experimental flags that the query needs.
 */
export function queryLink({ query, variables, flags = [] }: { query: string; variables?: object; flags?: readonly string[] }): string {
  const values = {
    query,
    ...(variables && { variables: JSON.stringify(variables, null, 2) }),
    ...(flags.length && { flags: flags.join(',') }),
  }
  return `/graphql#${new URLSearchParams(values)}`
}

/** The path in the service that opens an operation in the API reference. */
export function referenceLink(tag: string, operation: string): string {
  return `/v1/openapi#/${encodeURIComponent(tag)}/${encodeURIComponent(operation)}`
}
