// A program with the types that graphql-codegen's client preset makes, compiled strictly.

import type { TypedDocumentNode } from '@graphql-typed-document-node/core'
import { print } from 'graphql'
import { matrixVariables, post, report } from '../service.js'
import { graphql } from './gql/index.js'

const Distances = graphql(`
  query CodegenDistances($map: ID!, $sources: [WaypointInput!]!, $targets: [WaypointInput!]!) {
    map(id: $map) {
      createdAt
      distanceMatrix(
        sources: $sources
        targets: $targets
        costingOptions: { pedestrian: { mode: wheelchair } }
      ) {
        distanceMethod
        sources {
          waypointId
          targets {
            distance
            time
          }
        }
      }
    }
  }
`)

async function run<Data, Variables>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<Data> {
  return (await post(print(document), variables)) as Data
}

const { map } = await run(Distances, await matrixVariables())
const createdAt: string | undefined = map?.createdAt
const method: string | undefined = map?.distanceMatrix?.distanceMethod
report({ createdAt, method, rows: map?.distanceMatrix?.sources.length })
