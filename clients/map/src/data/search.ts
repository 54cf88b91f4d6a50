// Find units and amenities by their names, as the user types.

import type { Building } from './building.js'

export interface Found {
  kind: 'unit' | 'location'
  id: string
  name: string
  floorId: string | undefined
}

interface Entry extends Found {
  words: string[]
}

const ACCENTS = /\p{M}/gu
const WORDS = /[\p{L}\p{N}]+/gu

/** The words of a text, without regard to case and accents, as the search of the service has them. */
export function wordsOf(text: string): string[] {
  return text.normalize('NFKD').replace(ACCENTS, '').toLowerCase().match(WORDS) ?? []
}

/** Order names as people do: 9 before 10. */
export const byName = new Intl.Collator(undefined, { numeric: true }).compare

/** An index of the names in a building. Each word of a search begins a word of what it finds. */
export class NameIndex {
  readonly #entries: Entry[]

  constructor({ units, amenities }: Building) {
    const ofUnits = [...units.values()].map(({ id, name, floor_id }) => entry('unit', id, name, floor_id))
    const ofAmenities = [...amenities.values()].map((each) => entry('location', each.id, each.name, each.floors[0]?.id))
    this.#entries = [...ofAmenities, ...ofUnits].sort((a, b) => byName(a.name, b.name))
  }

  /** Return up to `limit` matches, by name, and how many there are. */
  find(text: string, limit: number): { found: Found[]; count: number } {
    const words = wordsOf(text)
    if (!words.length) return { found: [], count: 0 }
    const all = this.#entries.filter((each) => words.every((word) => each.words.some((own) => own.startsWith(word))))
    return { found: all.slice(0, limit), count: all.length }
  }
}

function entry(kind: Found['kind'], id: string, name: string, floorId?: string | null): Entry {
  return { kind, id, name, floorId: floorId ?? undefined, words: wordsOf(name) }
}
