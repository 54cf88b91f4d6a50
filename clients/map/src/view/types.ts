// What the view takes and tells. Coordinates are those of the drawing unless they are called pixels.

export interface Point {
  x: number
  y: number
}

export interface Box extends Point {
  width: number
  height: number
}

/** A storey of the drawing: `index` counts from 0 in the order of the drawing. */
export interface Level {
  index: number
  id?: string
  tags: Readonly<Record<string, string>>
  /** The page of the drawing: the same for all levels, so that a switch moves nothing. */
  box: Box
}

/** A place with a name, on the level with this index. */
export interface NamedPlace extends Point {
  text: string
  level: number
}

export type MarkerKind = 'here' | 'start' | 'end' | 'stop' | 'warning' | 'amenity'

export interface Marker extends Point {
  id: string
  kind: MarkerKind
  /** Shown in the pin: one to three characters. */
  text: string
  /** For screen readers and the tooltip. */
  label: string
}

export interface Overlay {
  /** Polygons filled by the even-odd rule, such as an isochrone with its holes. */
  areas: { rings: Point[][] }[]
  lines: { points: Point[]; kind: 'route' | 'straight' }[]
  markers: Marker[]
}

export interface Padding {
  top: number
  right: number
  bottom: number
  left: number
}

export interface ViewEvents {
  /** A click or tap that is on no marker. */
  pick: { x: number; y: number; unit?: string }
  /** The unit under the mouse has changed. */
  hover: { unit?: string }
  /** A marker was pressed. */
  marker: { id: string }
  /** The view has moved; at most once a frame. */
  move: Record<string, never>
  /** The view has come to rest, and the picture of what is in it is complete and sharp. */
  drawn: Record<string, never>
}
