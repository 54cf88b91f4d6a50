// The service that the programs talk to, named by the environment, and what they all ask.

const { FLOORGATE_URL, FLOORGATE_KEY } = process.env

export const ADDRESS = `${FLOORGATE_URL}/graphql`
export const HEADERS = {
  'API-Key': FLOORGATE_KEY,
  'Experimental-Flags': 'distances,unit-attributes-resource,locations-resource',
}
/** Without a flag that a field of `ATTRIBUTES_OF_UNIT` needs. */
export const HEADERS_WITHOUT_FLAGS = { 'API-Key': FLOORGATE_KEY }
export const MATRIX = `
  query Matrix($map: ID!, $sources: [WaypointInput!]!, $targets: [WaypointInput!]!) {
    map(id: $map) {
      id
      distanceMatrix(sources: $sources, targets: $targets) {
        sources { waypointId targets { waypointId distance } }
      }
    }
  }`
export const UNITS = `
  query Units($after: String) {
    units(first: 30, after: $after) {
      edges { cursor node { id name } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  }`
const ATTRIBUTES = 'attributes { data { id attributeId attribute { id attributeName } } }'
export const ATTRIBUTES_OF_UNIT = `query Attributes($unit: ID!) { unit(id: $unit) { id ${ATTRIBUTES} } }`
export const ASSIGN = `
  mutation Assign($input: AssignUnitAttributesInput!) {
    assignUnitAttributes(input: $input) { units { id ${ATTRIBUTES} } }
  }`

/** Post an operation without any cache. */
export async function post(query, variables) {
  const response = await fetch(ADDRESS, {
    method: 'POST',
    headers: { ...HEADERS, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = await response.json()
  if (errors) throw new Error(JSON.stringify(errors))
  return data
}

/** Two sources and two targets on the demo's map; all distances differ. */
export async function matrixVariables() {
  const map = 'alder-court-floor-plates'
  const { map: found } = await post('query ($map: ID!) { map(id: $map) { locations(first: 4) { data { id } } } }', { map })
  const [a, b, c, d] = found.locations.data.map(({ id }) => ({ id }))
  return { map, sources: [a, b], targets: [c, d] }
}

export const distances = ({ map }) =>
  map.distanceMatrix.sources.map(({ targets }) => targets.map(({ distance }) => distance))

/** Inputs that give a unit the one and the other attribute of a group that allows one. */
export async function assignments() {
  const { attributeGroups, units } = await post(`{
    attributeGroups { data { groupId oneAttributePerUnit attributes { attributeId } } }
    units(first: 1) { data { id assetId } }
  }`)
  const group = attributeGroups.data.find((each) => each.oneAttributePerUnit)
  const [{ id: unitId, assetId }] = units.data
  const inputs = group.attributes.slice(0, 2).map(({ attributeId }) => ({
    groupId: group.groupId,
    assignments: [{ groupId: group.groupId, attributeId, assetId, unitId }],
  }))
  return { unit: unitId, inputs }
}

export const attributesOf = ({ unit }) => unit.attributes.data.map(({ attributeId }) => attributeId)

export const report = (found) => console.log(JSON.stringify(found))
