// GraphiQL over the gateway's own /graphql. The schema is read anew whenever the key changes.

import './nonce.js'
import './workers.js'
import 'graphiql/style.css'
import './bar.css'
import { GraphiQL } from 'graphiql'
import { useMemo, useSyncExternalStore } from 'react'
import { createRoot } from 'react-dom/client'
import { judgeKey, session, subscribe } from './session.js'

const NO_KEY = { message: 'Type your API key at the top of this page, press Enter, and run again.' }
const QUERY = `# Units with their floor and asset
query Units {
  units(page: 1, perPage: 10) {
    paging {
      perPage
      currentPage
      hasNext
    }
    data {
      id
      name
      floor {
        name
        shortLabel
      }
      asset {
        id
        name
      }
    }
  }
}
`

function headers({ key, flags }) {
  return {
    'Content-Type': 'application/json',
    Accept: 'application/graphql-response+json, application/json',
    'API-Key': key,
    ...(flags && { 'Experimental-Flags': flags }),
  }
}

async function post(request, signal, caller) {
  const response = await fetch('graphql', {
    method: 'POST',
    headers: headers(caller),
    body: JSON.stringify(request),
    signal,
  })
  const result = await response.json()
  judgeKey(response, result.message)
  return result
}

function createFetcher(caller) {
  return async (request, { signal } = {}) => (caller.key ? post(request, signal, caller) : NO_KEY)
}

function Page() {
  const caller = useSyncExternalStore(subscribe, session)
  const fetcher = useMemo(() => createFetcher(caller), [caller])
  return (
    <GraphiQL
      fetcher={fetcher}
      // null: without a key there is no schema to ask for
      schema={caller.key ? undefined : null}
      defaultQuery={QUERY}
      defaultEditorToolsVisibility={false}
      isHeadersEditorEnabled={false}
      shouldPersistHeaders={false}
      inputValueDeprecation
      schemaDescription
    >
      <GraphiQL.Logo>{' '}</GraphiQL.Logo>
    </GraphiQL>
  )
}

createRoot(document.getElementById('page')).render(<Page />)
