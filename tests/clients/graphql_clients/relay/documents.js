// What relay-compiler reads; its artifacts are imported by relay.js.

import { graphql } from 'relay-runtime'

export const matrix = graphql`
  query documentsMatrixQuery($map: ID!, $sources: [WaypointInput!]!, $targets: [WaypointInput!]!) {
    map(id: $map) {
      distanceMatrix(sources: $sources, targets: $targets) {
        sources { waypointId targets { waypointId distance } }
      }
    }
  }
`
export const unitsOfAsset = graphql`
  query documentsAssetQuery($asset: ID!) {
    asset(id: $asset) { ...documentsUnits }
  }
`
export const units = graphql`
  fragment documentsUnits on Asset
  @argumentDefinitions(count: { type: "Int", defaultValue: 30 }, cursor: { type: "String" })
  @refetchable(queryName: "documentsMoreUnitsQuery") {
    units(first: $count, after: $cursor) @connection(key: "documentsUnits_units") {
      edges { node { id name } }
    }
  }
`
export const attributes = graphql`
  query documentsAttributesQuery($unit: ID!) {
    unit(id: $unit) { attributes { data { attributeId attribute { attributeName } } } }
  }
`
export const caught = graphql`
  query documentsCaughtQuery($unit: ID!) {
    unit(id: $unit) { attributes @catch { data { attributeId } } }
  }
`
export const assign = graphql`
  mutation documentsAssignMutation($input: AssignUnitAttributesInput!) {
    assignUnitAttributes(input: $input) {
      units { attributes { data { attributeId attribute { attributeName } } } }
    }
  }
`
