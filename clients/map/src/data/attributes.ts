// Attribute groups, and the colours by which units show their attribute of one.

import { type Api, orNull, type Schemas } from './api.js'

export type AttributeGroup = Schemas['AttributeGroup']

/** Colours that people with any kind of colour vision tell apart (Tol, 2021, "light"), then tints of them. */
const COLORS = [
  '#77aadd', '#ee8866', '#eedd88', '#ffaabb', '#99ddff', '#44bb99', '#bbcc33', '#aaaa00',
  '#b4cfee', '#f6c1ae', '#f7eec5', '#cfa3d8', '#8fd4bf', '#dde599', '#d6b48a', '#c9c9c9',
]

export interface LegendEntry {
  id: string
  name: string
  color: string
  units: ReadonlySet<string>
}

/** Read the groups, or null if the key may not read attributes. */
export async function readGroups({ rest }: Api): Promise<AttributeGroup[] | null> {
  return orNull(rest.attributeGroups.list(), 403)
}

/** Read which of the units have which attribute of a group. More attributes than colours share these. */
export async function readLegend(
  { rest }: Api,
  group: AttributeGroup,
  units: { has(id: string): boolean },
): Promise<LegendEntry[]> {
  const found = new Map<string, Set<string>>(group.attributes.map(({ attribute_id }) => [attribute_id, new Set()]))
  const list = rest.attributeGroups(group.group_id).assignments.list({ per_page: 10_000 })
  for await (const { unit_id, attribute_id } of list) {
    if (units.has(unit_id)) found.get(attribute_id)?.add(unit_id)
  }
  return group.attributes.map(({ attribute_id: id, attribute_name: name }, index) => ({
    id,
    name,
    color: COLORS[index % COLORS.length]!,
    units: found.get(id)!,
  }))
}

/** The colour of each unit: that of its first attribute in the order of the group. */
export function fillsOf(legend: readonly LegendEntry[]): Map<string, string> {
  const fills = new Map<string, string>()
  for (const { units, color } of legend) for (const unit of units) if (!fills.has(unit)) fills.set(unit, color)
  return fills
}
