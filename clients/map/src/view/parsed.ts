// The JSON of a parsed map (docs/unit-maps.md, "Result"), and its storeys.

export type ShapeType = 'Polygon' | 'Polyline' | 'Line' | 'Path' | 'Circle' | 'Ellipse' | 'Rect'

/** Attributes are the text of the drawing, but for the numbers of a Rect. */
export interface ParsedShape {
  type: ShapeType
  [attribute: string]: string | number | undefined
}

export interface ParsedUnit {
  type: 'Unit'
  uid: string
  id: string
  shape: ParsedShape
}

export interface ParsedHitArea {
  type: 'HitArea'
  uid: string
  id: string
  target: { id: string; type: string }
  shape: ParsedShape
}

export interface ParsedGroup {
  type: 'Layer' | 'UnitLayer' | 'HitAreaLayer'
  elements: ParsedElement[]
}

export interface ParsedLevel {
  type: 'Level'
  uid: string
  id?: string
  tags?: Record<string, string>
  elements: ParsedElement[]
}

export type ParsedElement =
  | ParsedShape
  | ParsedUnit
  | ParsedHitArea
  | ParsedGroup
  | ParsedLevel
  | { type: 'Georeference' }

export interface ParsedMap {
  version: string
  type: string
  width: number
  height: number
  elements: ParsedElement[]
}

export type Leaf = ParsedShape | ParsedUnit | ParsedHitArea

/** A storey: what is drawn, in its order, groups resolved. */
export interface Storey {
  id?: string
  tags: Record<string, string>
  leaves: Leaf[]
}

/**
 * The storeys of a drawing. What is in no Level lies under all of them; a drawing without Levels is
 * one storey.
 */
export function storeysOf(parsed: ParsedMap): Storey[] {
  const shared: Leaf[] = []
  const storeys: Storey[] = []
  collect(parsed.elements, shared, (level) => {
    const leaves: Leaf[] = []
    collect(level.elements, leaves, (inner) => collect(inner.elements, leaves))
    storeys.push({ id: level.id, tags: level.tags ?? {}, leaves })
  })
  if (!storeys.length) return [{ tags: {}, leaves: shared }]
  return storeys.map((storey) => ({ ...storey, leaves: [...shared, ...storey.leaves] }))
}

function collect(elements: ParsedElement[], leaves: Leaf[], visit?: (level: ParsedLevel) => void): void {
  for (const element of elements) {
    if (element.type === 'Level') visit?.(element as ParsedLevel)
    else if (element.type !== 'Georeference') {
      if ('elements' in element) collect((element as ParsedGroup).elements, leaves, visit)
      else leaves.push(element as Leaf)
    }
  }
}
