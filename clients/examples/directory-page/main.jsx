// The units of the properties that a key sees, with a search and pages that are loaded on request.
// Open it as http://localhost:5173/?url=https://127.0.0.1:8443&key=fgk_...
// A key in a browser is public: give it few assets and no permissions.

import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { ApolloProvider, useQuery } from '@apollo/client/react'
import { relayStylePagination } from '@apollo/client/utilities'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'

const UNITS = gql`
  query Units($search: String, $after: String) {
    units(search: $search, first: 25, after: $after) {
      totalCount
      edges {
        cursor
        node {
          id
          name
          floor { id name }
          asset { id name }
        }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`

function Units({ search }) {
  const { data, error, loading, fetchMore } = useQuery(UNITS, { variables: { search } })
  if (error) return <p role="alert">{error.message}</p>
  if (!data) return <p>Loading…</p>
  const { edges, pageInfo, totalCount } = data.units
  return (
    <>
      <p role="status">{totalCount} units</p>
      <ul>
        {edges.map(({ node }) => (
          <li key={node.id}>
            <strong>{node.name}</strong> <small>{node.floor?.name}, {node.asset?.name}</small>
          </li>
        ))}
      </ul>
      {pageInfo.hasNextPage && (
        <button disabled={loading} onClick={() => fetchMore({ variables: { after: pageInfo.endCursor } })}>
          More
        </button>
      )}
    </>
  )
}

function Directory() {
  const [search, setSearch] = useState('')
  return (
    <>
      <h1>Directory</h1>
      <label>
        Search <input type="search" value={search} onChange={({ target }) => setSearch(target.value)} />
      </label>
      <Units search={search.trim() || null} />
    </>
  )
}

const parameters = new URLSearchParams(location.search)
const client = new ApolloClient({
  link: new HttpLink({
    uri: `${parameters.get('url')}/graphql`,
    headers: { 'API-Key': parameters.get('key') },
  }),
  // The stock helper merges pages; lists with another search are kept apart.
  cache: new InMemoryCache({
    typePolicies: { Query: { fields: { units: relayStylePagination(['search']) } } },
  }),
})

createRoot(document.getElementById('page')).render(
  <ApolloProvider client={client}>
    <Directory />
  </ApolloProvider>,
)
