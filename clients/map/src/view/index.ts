// The view: draws a parsed map and knows nothing of the service.

export { MapView } from './map_view.ts'
export type { ParsedMap } from './parsed.ts'
export { viewStyles } from './styles.ts'
export type { Box, Level, Marker, MarkerKind, NamedPlace, Overlay, Padding, Point, ViewEvents } from './types.ts'
