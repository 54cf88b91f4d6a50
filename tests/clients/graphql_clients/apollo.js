// Apollo Client with its default cache, and its own helper for pages.

import { ApolloClient, CombinedGraphQLErrors, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { relayStylePagination } from '@apollo/client/utilities'
import { filter, firstValueFrom } from 'rxjs'
import {
  ADDRESS, ASSIGN, assignments, ATTRIBUTES_OF_UNIT, attributesOf, distances, HEADERS, HEADERS_WITHOUT_FLAGS, MATRIX, matrixVariables, report, UNITS,
} from './service.js'

const link = new HttpLink({ uri: ADDRESS, headers: HEADERS })

/** The first whole result of a query that is watched. */
const firstResult = (watched) =>
  firstValueFrom(watched.pipe(filter(({ dataState }) => dataState === 'complete')))

async function matrix() {
  const client = new ApolloClient({ link, cache: new InMemoryCache() })
  const { data } = await client.query({ query: gql(MATRIX), variables: await matrixVariables() })
  return distances(data)
}

async function pages() {
  const cache = new InMemoryCache({ typePolicies: { Query: { fields: { units: relayStylePagination() } } } })
  const client = new ApolloClient({ link, cache })
  const units = client.watchQuery({ query: gql(UNITS) })
  const subscription = units.subscribe(() => {})
  let { data } = await firstResult(units)
  while (data.units.pageInfo.hasNextPage) {
    const { endCursor } = data.units.pageInfo
    await units.fetchMore({ variables: { after: endCursor } })
    data = client.readQuery({ query: gql(UNITS) })
    if (data.units.pageInfo.endCursor === endCursor) throw new Error('the pages were not merged')
  }
  subscription.unsubscribe()
  return data.units.edges.map(({ node }) => node.id)
}

async function watcher() {
  const client = new ApolloClient({ link, cache: new InMemoryCache() })
  const { unit, inputs } = await assignments()
  const seen = []
  const watched = client.watchQuery({ query: gql(ATTRIBUTES_OF_UNIT), variables: { unit } })
  const subscription = watched.subscribe(({ data, dataState }) => {
    if (dataState === 'complete') seen.push(attributesOf(data))
  })
  await firstResult(watched)
  for (const input of inputs) await client.mutate({ mutation: gql(ASSIGN), variables: { input } })
  subscription.unsubscribe()
  return { seen, assigned: inputs.map(({ assignments: [{ attributeId }] }) => attributeId) }
}

/** What is left of a query when one of its fields fails. */
async function partial() {
  const withoutFlags = new HttpLink({ uri: ADDRESS, headers: HEADERS_WITHOUT_FLAGS })
  const query = { query: gql(ATTRIBUTES_OF_UNIT), variables: { unit: (await assignments()).unit } }
  const byDefault = new ApolloClient({ link: withoutFlags, cache: new InMemoryCache() })
  const thrown = await byDefault.query(query).catch((error) => error)
  if (!CombinedGraphQLErrors.is(thrown)) throw new Error('errorPolicy: all would not be needed')
  const client = new ApolloClient({
    link: withoutFlags, cache: new InMemoryCache(), defaultOptions: { query: { errorPolicy: 'all' } },
  })
  const { data, error } = await client.query(query)
  return { data: { attributes: data.unit.attributes }, code: error.errors[0].extensions.code }
}

/** What an error of the whole request says. */
async function refused() {
  const wrongKey = new HttpLink({ uri: ADDRESS, headers: { ...HEADERS, 'API-Key': 'fgk_wrong' } })
  const client = new ApolloClient({ link: wrongKey, cache: new InMemoryCache() })
  const thrown = await client.query({ query: gql(UNITS) }).catch((error) => error)
  return thrown.errors[0].extensions.code
}

const found = { matrix: await matrix(), pages: await pages(), watcher: await watcher() }
report({ ...found, partial: await partial(), refused: await refused() })
