// Relay with its default store: objects are known by `nodeId`, as docs/graphql/clients.md says.

import relay from 'relay-runtime'
import assign from './relay/__generated__/documentsAssignMutation.graphql.js'
import assetQuery from './relay/__generated__/documentsAssetQuery.graphql.js'
import attributesQuery from './relay/__generated__/documentsAttributesQuery.graphql.js'
import caughtQuery from './relay/__generated__/documentsCaughtQuery.graphql.js'
import matrixQuery from './relay/__generated__/documentsMatrixQuery.graphql.js'
import moreUnits from './relay/__generated__/documentsMoreUnitsQuery.graphql.js'
import units from './relay/__generated__/documentsUnits.graphql.js'
import { ADDRESS, assignments, attributesOf, distances, HEADERS, HEADERS_WITHOUT_FLAGS, matrixVariables, report } from './service.js'

const {
  commitMutation, createOperationDescriptor, Environment, fetchQuery, getSingularSelector, Network, RecordSource, Store,
} = relay
const warnings = []
console.error = (...words) => warnings.push(words.join(' '))

const sendWith = (headers) => async ({ text }, variables) => {
  const response = await fetch(ADDRESS, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: text, variables }),
  })
  return response.json()
}

const makeEnvironment = (headers = HEADERS) =>
  new Environment({
    network: Network.create(sendWith(headers)),
    store: new Store(new RecordSource()),
    getDataID: ({ nodeId }) => nodeId,
  })

async function matrix() {
  return distances(await fetchQuery(makeEnvironment(), matrixQuery, await matrixVariables()).toPromise())
}

async function pages() {
  const environment = makeEnvironment()
  const operation = createOperationDescriptor(assetQuery, { asset: 'alder-court' })
  environment.retain(operation)
  await fetchQuery(environment, assetQuery, { asset: 'alder-court' }).toPromise()
  const { asset } = environment.lookup(operation.fragment).data
  const listed = () => environment.lookup(getSingularSelector(units, asset)).data
  for (let found = listed(); found.units.pageInfo.hasNextPage; found = listed()) {
    const variables = { nodeId: found.nodeId, count: 30, cursor: found.units.pageInfo.endCursor }
    await fetchQuery(environment, moreUnits, variables).toPromise()
  }
  return listed().units.edges.map(({ node }) => node.id)
}

async function watcher() {
  const environment = makeEnvironment()
  const { unit, inputs } = await assignments()
  const operation = createOperationDescriptor(attributesQuery, { unit })
  environment.retain(operation)
  await fetchQuery(environment, attributesQuery, { unit }).toPromise()
  const first = environment.lookup(operation.fragment)
  const seen = [attributesOf(first.data)]
  const subscription = environment.subscribe(first, ({ data }) => seen.push(attributesOf(data)))
  for (const input of inputs) {
    await new Promise((onCompleted, onError) =>
      commitMutation(environment, { mutation: assign, variables: { input }, onCompleted, onError }),
    )
  }
  subscription.dispose()
  return { seen, assigned: inputs.map(({ assignments: [{ attributeId }] }) => attributeId) }
}

/** What is left of a query when one of its fields fails, without and with `@catch`. */
async function partial() {
  const environment = makeEnvironment(HEADERS_WITHOUT_FLAGS)
  const { unit } = await assignments()
  const data = await fetchQuery(environment, attributesQuery, { unit }).toPromise()
  const caught = await fetchQuery(environment, caughtQuery, { unit }).toPromise()
  const { ok, errors } = caught.unit.attributes
  return { data: { attributes: data.unit.attributes }, code: ok ? null : errors[0].extensions.code }
}

const found = { matrix: await matrix(), pages: await pages(), watcher: await watcher() }
report({ ...found, partial: await partial(), warnings })
