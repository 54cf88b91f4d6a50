// The view: draws a parsed map and knows nothing of the service.

export { MapView } from './map_view.js'
export type { ParsedMap } from './parsed.js'
export { viewStyles } from './styles.js'
export type { Box, Level, Marker, MarkerKind, NamedPlace, Overlay, Padding, Point, ViewEvents } from './types.js'
