// Find units and amenities by their names, and amenities by what they are, as the user types.

import { type Building, kindsOf } from './building.js'

export interface Found {
  kind: 'unit' | 'location'
  id: string
  name: string
  floorId: string | undefined
}

interface Entry extends Found {
  words: string[]
  /** Of what it is: the words of its tags, and what people call it. */
  more: string[]
}

const ACCENTS = /\p{M}/gu
const WORDS = /[\p{L}\p{N}]+/gu

/** The words of a text, without regard to case and accents, as the search of the service has them. */
export function wordsOf(text: string): string[] {
  return text.normalize('NFKD').replace(ACCENTS, '').toLowerCase().match(WORDS) ?? []
}

/** Order names as people do: 9 before 10. */
export const byName = new Intl.Collator(undefined, { numeric: true }).compare

/** Read `fitness_centre: gym, workout; ...`: what people call the values of tags. */
function readSynonyms(text: string): Map<string, string> {
  return new Map(text.split(';').map((each) => [each.split(':')[0]!.trim(), each.split(':')[1] ?? '']))
}

/** An index of the names in a building. Each word of a search begins a word of what it finds. */
export class NameIndex {
  readonly #entries: Entry[]

  /** `synonyms` are what people call amenities, as the text with this name has them. */
  constructor({ units, amenities }: Building, synonyms = '') {
    const called = readSynonyms(synonyms)
    const more = (value: string) => wordsOf(`${value.replaceAll('_', ' ')} ${called.get(value) ?? ''}`)
    const ofUnits = [...units.values()].map(({ id, name, floor_id }) => entry('unit', id, name, floor_id))
    const ofAmenities = [...amenities.values()].map((each) => ({
      ...entry('location', each.id, each.name, each.floors[0]?.id),
      more: kindsOf(each).flatMap((kind) => more(kind.split('==')[1]!)),
    }))
    this.#entries = [...ofAmenities, ...ofUnits].sort((a, b) => byName(a.name, b.name))
  }

  /** Return up to `limit` matches, by name, and how many there are. Those of which the name matches come first. */
  find(text: string, limit: number): { found: Found[]; count: number } {
    const words = wordsOf(text)
    if (!words.length) return { found: [], count: 0 }
    const named = this.#entries.filter((each) => matches(words, each.words))
    const others = this.#entries.filter(({ more, words: own }) => more.length && matches(words, [...own, ...more]))
    const all = [...new Set([...named, ...others])]
    return { found: all.slice(0, limit), count: all.length }
  }
}

function matches(words: string[], own: string[]): boolean {
  return words.every((word) => own.some((each) => each.startsWith(word)))
}

function entry(kind: Found['kind'], id: string, name: string, floorId?: string | null): Entry {
  return { kind, id, name, floorId: floorId ?? undefined, words: wordsOf(name), more: [] }
}
