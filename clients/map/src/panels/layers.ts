// What is shown on the map: units coloured by an attribute, and amenities by their kind.

import { html, nothing } from 'lit'
import type { AttributeGroup, LegendEntry } from '../data/attributes.js'
import { AMENITIES } from '../data/reach.js'
import { byName } from '../data/search.js'
import { fill, type Texts } from '../texts.js'

export interface LayersOptions {
  texts: Texts
  /** Why colours or amenities are missing. */
  problem: unknown
  /** Null if the key may not read attributes. */
  groups: AttributeGroup[] | null
  color: string | undefined
  legend: readonly LegendEntry[]
  /** The entry of the legend that units are shown of. */
  chosen: string | undefined
  /** How many amenities there are of each kind, such as `amenity==gym`. */
  kinds: ReadonlyMap<string, number>
  tags: string | undefined
  onColor(group: string | undefined): void
  onEntry(entry: string | undefined): void
  onTags(tags: string | undefined): void
}

export function layersPanel(options: LayersOptions) {
  const { texts, groups, color, kinds, tags } = options
  return html`
    ${groups?.length
      ? html`<label>
          ${texts.colorBy}
          <select @change=${(event: Event) => options.onColor(valueOf(event))}>
            <option value="">${texts.noColor}</option>
            ${groups.map(({ group_id: id, group_name: name }) => option(id, name, id === color))}
          </select>
        </label>`
      : nothing}
    ${color ? legendOf(options) : nothing} ${options.problem}
    ${kinds.size
      ? html`<label>
          ${texts.amenities}
          <select @change=${(event: Event) => options.onTags(valueOf(event))}>
            <option value="">${texts.noAmenities}</option>
            ${option(AMENITIES, texts.allAmenities, tags === AMENITIES)}
            ${namesOf([...kinds.keys()]).map(([kind, name]) => option(kind, `${name} (${kinds.get(kind)})`, kind === tags))}
          </select>
        </label>`
      : nothing}
  `
}

/** Each entry is a button that shows only its units. */
function legendOf({ texts, legend, chosen, onEntry }: LayersOptions) {
  return html`<ul class="legend" aria-label=${texts.legend}>
    ${legend.map(
      ({ id, name, color, units }) => html`<li>
        <button aria-pressed=${id === chosen} @click=${() => onEntry(id === chosen ? undefined : id)}>
          <svg class="swatch" viewBox="0 0 1 1" aria-hidden="true"><rect width="1" height="1" fill=${color} /></svg>
          <span>${name}</span> <small>${units.size === 1 ? texts.oneUnit : fill(texts.unitCount, { count: units.size })}</small>
        </button>
      </li>`,
    )}
  </ul>`
}

function option(value: string, text: string, isChosen: boolean) {
  return html`<option value=${value} ?selected=${isChosen}>${text}</option>`
}

function valueOf(event: Event): string | undefined {
  return (event.target as HTMLSelectElement).value || undefined
}

/** Kinds such as `amenity==letter_box` as people write them, by name; where two have one name, with the key. */
function namesOf(kinds: readonly string[]): [string, string][] {
  const plain = kinds.map((kind) => {
    const [key = '', value = ''] = kind.split('==').map((part) => part.replaceAll('_', ' '))
    return { kind, key, name: value.charAt(0).toUpperCase() + value.slice(1) }
  })
  const isShared = (name: string) => plain.filter((each) => each.name === name).length > 1
  return plain
    .map(({ kind, key, name }): [string, string] => [kind, isShared(name) ? `${name}, ${key}` : name])
    .sort(([, one], [, other]) => byName(one, other))
}
