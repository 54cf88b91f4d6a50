// What the service reads of a drawing before it is imported, and where the warnings are on it.

import type { Box, Marker } from '../view/types.js'
import type { ParsedElement, ParsedMap, ParsedUnit } from '../view/parsed.js'
import type { Api } from './api.js'

/** Places of each cause that are asked for. */
export const MAX_PLACES = 100

export interface WarningPlace {
  /** Line and column of the element in the file, from 1; 0 if the whole drawing is meant. */
  line: number
  column: number
  element: string
  name: string
  level: string
  detail: string
  /** Number of the Level, from 0; null if it is in none. */
  levelIndex: number | null
  /** Middle of the element on the map; null if it draws nothing. */
  x: number | null
  y: number | null
  width: number | null
  height: number | null
}

export interface DrawingWarning {
  code: string
  /** It only says how a name was read. */
  isNote: boolean
  message: string
  remedy: string
  count: number
  /** The first of the places. */
  places: WarningPlace[]
}

export interface DrawingCheck {
  parsed: ParsedMap
  warnings: DrawingWarning[]
  summary: { levels: number; units: number; hitAreas: number; shapes: number }
}

/** The drawing was rejected. `line` and `column` are where it is wrong, if that is known. */
export class RejectedDrawing extends Error {
  constructor(
    message: string,
    readonly line?: number,
    readonly column?: number,
  ) {
    super(message)
  }
}

const QUERY = `query CheckDrawing($svg: SvgDocument!, $places: Int!) {
  parsedUnitMap(svg: $svg, force: true, places: $places) {
    parsed: map
    summary { levels units hitAreas shapes }
    warnings {
      code isNote message remedy count
      places { line column element name level detail levelIndex x y width height }
    }
  }
}`

interface ParseError {
  message: string
  extensions?: { code?: string; line?: number; column?: number }
}

/**
 * Parse the text of an SVG. Nothing is stored, and a drawing that is mostly an image is parsed too.
 * Throws a `RejectedDrawing` with the service's reason.
 */
export async function checkDrawing(api: Api, svg: string): Promise<DrawingCheck> {
  const variables = { svg, places: MAX_PLACES }
  const answer = await api.graphql<{ parsedUnitMap: DrawingCheck | null }>(QUERY, variables)
  const check = answer.data?.parsedUnitMap
  if (check) return check
  const error: ParseError | undefined = answer.errors?.[0]
  throw new RejectedDrawing(error?.message ?? '', error?.extensions?.line, error?.extensions?.column)
}

/**
 * The index of the view's storey for each Level of the drawing: a Level inside another is a part of it.
 * Places in no Level are on all storeys.
 */
export function storeysOfLevels(parsed: ParsedMap): number[] {
  const storeys: number[] = []
  let count = 0
  const visit = (elements: readonly ParsedElement[], storey?: number): void => {
    for (const element of elements) {
      const isLevel = element.type === 'Level'
      const inner = isLevel ? (storey ?? count++) : storey
      if (isLevel) storeys.push(inner as number)
      if ('elements' in element) visit((element as { elements: ParsedElement[] }).elements, inner)
    }
  }
  visit(parsed.elements)
  return storeys
}

/**
 * A check with one more cause: the units of the drawing that are not `known` on the map. `boxOf` says where a
 * unit is drawn, and on which of the view's storeys.
 */
export function withUnknownUnits(
  check: DrawingCheck,
  known: { has(unit: string): boolean },
  boxOf: (unit: string) => { level: number; box: Box } | undefined,
  words: Pick<DrawingWarning, 'message' | 'remedy'>,
): DrawingCheck {
  const unknown = [...new Set(unitsOf(check.parsed.elements))].filter((unit) => !known.has(unit))
  if (!unknown.length) return check
  const storeys = storeysOfLevels(check.parsed)
  const places = unknown.slice(0, MAX_PLACES).map((unit): WarningPlace => {
    const found = boxOf(unit)
    const level = found ? storeys.indexOf(found.level) : -1
    return {
      line: 0,
      column: 0,
      element: '',
      name: unit,
      level: '',
      detail: '',
      levelIndex: level < 0 ? null : level,
      x: found ? found.box.x + found.box.width / 2 : null,
      y: found ? found.box.y + found.box.height / 2 : null,
      width: found?.box.width ?? null,
      height: found?.box.height ?? null,
    }
  })
  const warning = { code: 'unknown-units', isNote: false, ...words, count: unknown.length, places }
  return { ...check, warnings: [...check.warnings, warning] }
}

function unitsOf(elements: readonly ParsedElement[]): string[] {
  return elements.flatMap((element) => {
    if ('elements' in element) return unitsOf((element as { elements: ParsedElement[] }).elements)
    return element.type === 'Unit' ? [(element as ParsedUnit).id] : []
  })
}

export interface LocatedPlace {
  /** Of the marker of the place. */
  id: string
  /** Number of the cause, from 1. */
  number: number
  warning: DrawingWarning
  place: WarningPlace
  /** Index of the view's storey; undefined if the place is on all of them. */
  storey: number | undefined
}

/** All places with the numbers of their causes. Mistakes come before notes. */
export function locatePlaces({ parsed, warnings }: DrawingCheck): LocatedPlace[] {
  const storeys = storeysOfLevels(parsed)
  return sortWarnings(warnings).flatMap((warning, cause) =>
    warning.places.map((place, index) => ({
      id: `warning:${cause + 1}:${index}`,
      number: cause + 1,
      warning,
      place,
      storey: place.levelIndex === null ? undefined : storeys[place.levelIndex],
    })),
  )
}

/** Warnings in the order of their numbers: mistakes first, then notes. */
export function sortWarnings(warnings: readonly DrawingWarning[]): DrawingWarning[] {
  return [...warnings.filter(({ isNote }) => !isNote), ...warnings.filter(({ isNote }) => isNote)]
}

/** What a place is about, in words of the service. */
export function describePlace({ element, name, level, detail }: WarningPlace): string {
  if (detail) return detail
  return [element && `<${element}>`, name && `“${name}”`, level && `in ${level}`].filter(Boolean).join(' ')
}

/** Markers of the mistakes on one storey of the view, each with the number of its cause. */
export function warningMarkers(check: DrawingCheck, storey: number): Marker[] {
  return locatePlaces(check).flatMap(({ id, number, warning, place, storey: own = storey }) => {
    if (warning.isNote || own !== storey || place.x === null || place.y === null) return []
    const about = describePlace(place)
    const label = about ? `${warning.message}: ${about}` : warning.message
    return [{ id, x: place.x, y: place.y, kind: 'warning', text: String(number), label }]
  })
}
