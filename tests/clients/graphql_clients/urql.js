// urql with graphcache's defaults, and its own helper for pages.

import { Client, fetchExchange, gql } from '@urql/core'
import { cacheExchange } from '@urql/exchange-graphcache'
import { relayPagination } from '@urql/exchange-graphcache/extras'
import {
  ADDRESS, ASSIGN, assignments, ATTRIBUTES_OF_UNIT, attributesOf, distances, HEADERS, HEADERS_WITHOUT_FLAGS, MATRIX, matrixVariables, report, UNITS,
} from './service.js'

const warnings = []
console.warn = (message) => warnings.push(message)

function makeClient(options = {}, headers = HEADERS) {
  return new Client({
    url: ADDRESS,
    exchanges: [cacheExchange(options), fetchExchange],
    fetchOptions: { headers },
    preferGetMethod: false,
  })
}

function dataOf({ data, error }) {
  if (error) throw error
  return data
}

async function matrix() {
  return distances(dataOf(await makeClient().query(gql(MATRIX), await matrixVariables()).toPromise()))
}

async function pages() {
  const client = makeClient({ resolvers: { Query: { units: relayPagination() } } })
  let { units } = dataOf(await client.query(gql(UNITS), {}).toPromise())
  while (units.pageInfo.hasNextPage) {
    units = dataOf(await client.query(gql(UNITS), { after: units.pageInfo.endCursor }).toPromise()).units
  }
  return units.edges.map(({ node }) => node.id)
}

async function watcher() {
  const client = makeClient()
  const { unit, inputs } = await assignments()
  const seen = []
  let isRead
  const read = new Promise((resolve) => (isRead = resolve))
  const { unsubscribe } = client.query(gql(ATTRIBUTES_OF_UNIT), { unit }).subscribe((result) => {
    if (!result.stale) seen.push(attributesOf(dataOf(result)))
    isRead()
  })
  await read
  for (const input of inputs) dataOf(await client.mutation(gql(ASSIGN), { input }).toPromise())
  unsubscribe()
  return { seen, assigned: inputs.map(({ assignments: [{ attributeId }] }) => attributeId) }
}

/** What is left of a query when one of its fields fails. */
async function partial() {
  const client = makeClient({}, HEADERS_WITHOUT_FLAGS)
  const { unit } = await assignments()
  const { data, error } = await client.query(gql(ATTRIBUTES_OF_UNIT), { unit }).toPromise()
  return { data: { attributes: data.unit.attributes }, code: error.graphQLErrors[0].extensions.code }
}

const found = { matrix: await matrix(), pages: await pages(), watcher: await watcher() }
report({ ...found, partial: await partial(), warnings })
