// Ready-made operations, one file each, as tabs; their variables name records that the key sees.

import assignAttributes from './tasks/assign-attributes.graphql'
import distanceMatrix from './tasks/distance-matrix.graphql'
import followChanges from './tasks/follow-changes.graphql'
import nearestGym from './tasks/nearest-gym-by-wheelchair.graphql'
import units from './tasks/units.graphql'
import unitsOfAFloor from './tasks/units-of-a-floor.graphql'
import { post } from './call.js'
import { ALL_FLAGS, session } from './session.js'

export const TASKS = [units, unitsOfAFloor, nearestGym, distanceMatrix, assignAttributes, followChanges]
const SAMPLES = `query Samples {
  assets(perPage: 1) { data { id floors(perPage: 1) { data { id } } units(perPage: 1) { data { id } } } }
  maps(perPage: 1, tags: "pathfinding") { data { id locations(perPage: 3) { data { id } } } }
  attributeGroups(perPage: 1) { data { groupId attributes { attributeId } } }
}`

/** Values of variables by name, from the records that the key sees; what it does not see is absent. */
async function samples() {
  const caller = { ...session(), flags: ALL_FLAGS }
  // application/json: what this key may not ask for is no failure of the page.
  const { data } = await post({ query: SAMPLES }, { caller, accept: 'application/json' })
  const asset = data?.assets?.data[0]
  const map = data?.maps?.data[0]
  const group = data?.attributeGroups?.data[0]
  const [first, ...others] = map?.locations?.data ?? []
  return {
    asset: asset?.id,
    floor: asset?.floors?.data[0]?.id,
    unit: asset?.units?.data[0]?.id,
    map: map?.id,
    location: first?.id,
    sources: first && [{ id: first.id }],
    targets: others.length ? others.map(({ id }) => ({ id })) : undefined,
    group: group?.groupId,
    attribute: group?.attributes[0]?.attributeId,
  }
}

/** The variables that a query declares as required. */
function requiredVariables(query) {
  return [...query.matchAll(/\$(\w+): \[?\w+!?\]?!/g)].map(([, name]) => name)
}

const hint = (name) => `<${name}>`

/** Tabs of all tasks, with hints in the place of values. */
export const TASK_TABS = TASKS.map((query) => ({
  query,
  variables: JSON.stringify(
    Object.fromEntries(requiredVariables(query).map((name) => [name, hint(name)])), null, 2,
  ),
}))

/** Return a function that puts records that the key sees into the place of hints. */
export async function loadSamples() {
  const values = Object.entries(await samples()).filter(([, value]) => value !== undefined)
  return (variables) =>
    values.reduce(
      (text, [name, value]) => text.replaceAll(`"${hint(name)}"`, () => JSON.stringify(value)),
      variables,
    )
}
