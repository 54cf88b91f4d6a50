// A panel with the program that runs the operation of the current tab, in several languages.

import { useGraphiQL } from '@graphiql/react'
import { useState, useSyncExternalStore } from 'react'
import { session, subscribe } from './session.js'

const address = () => new URL('graphql', location.href).href
const shellQuoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`
const pretty = (value) => JSON.stringify(value, null, 2)
const indented = (text, by) => text.replaceAll('\n', `\n${by}`)

/** The call of an address in a shell, with the key from the environment. */
export function writeCurl(url, { method, flags, body, mediaType }) {
  return [
    `curl ${method ? `-X ${method} ` : ''}${shellQuoted(url)}`,
    '-H "API-Key: $FLOORGATE_KEY"',
    ...(flags ? [`-H ${shellQuoted(`Experimental-Flags: ${flags}`)}`] : []),
    ...(body ? [`-H ${shellQuoted(`Content-Type: ${mediaType}`)}`, `-d ${shellQuoted(body)}`] : []),
  ].join(' \\\n  ')
}

function curl({ query, variables, flags }) {
  return writeCurl(address(), { flags, body: JSON.stringify({ query, variables }), mediaType: 'application/json' })
}

function fetchCall({ query, variables, flags }) {
  return `const response = await fetch(${JSON.stringify(address())}, {
  method: 'POST',
  headers: {
    'Content-Type': 'application/json',
    'API-Key': process.env.FLOORGATE_KEY,${flags && `\n    'Experimental-Flags': ${JSON.stringify(flags)},`}
  },
  body: JSON.stringify(${indented(pretty({ query, variables }), '  ')}),
})
const { data, errors } = await response.json()
console.log(errors ?? data)
`
}

function apollo({ query, variables, flags, operation }) {
  const method = { mutation: 'mutate', subscription: 'subscribe' }[operation] ?? 'query'
  const role = method === 'mutate' ? 'mutation' : 'query'
  return `import { ApolloClient, HttpLink, InMemoryCache, gql } from '@apollo/client'

const client = new ApolloClient({
  cache: new InMemoryCache(),
  link: new HttpLink({
    uri: ${JSON.stringify(address())},
    headers: {
      'API-Key': process.env.FLOORGATE_KEY,${flags && `\n      'Experimental-Flags': ${JSON.stringify(flags)},`}
    },
  }),
})
const { data } = await client.${method}({
  ${role}: gql\`
    ${indented(query.trim().replace(/[`\\]|\$\{/g, '\\$&'), '    ')}
  \`,
  variables: ${indented(pretty(variables), '  ')},
})
console.log(data)
`
}

/** JSON in Python's words. Only text in quotes may hold `true`, `false` or `null` otherwise. */
function python(value) {
  const words = { true: 'True', false: 'False', null: 'None' }
  return pretty(value).replace(/"(?:\\.|[^"\\])*"|true|false|null/g, (token) => words[token] ?? token)
}

function httpx({ query, variables, flags }) {
  return `import os

import httpx

QUERY = ${JSON.stringify(query)}
response = httpx.post(
    ${JSON.stringify(address())},
    headers={
        "API-Key": os.environ["FLOORGATE_KEY"],${flags && `\n        "Experimental-Flags": ${JSON.stringify(flags)},`}
    },
    json={"query": QUERY, "variables": ${indented(python(variables), '    ')}},
)
print(response.json())
`
}

const LANGUAGES = { curl, fetch: fetchCall, 'Apollo Client': apollo, 'Python httpx': httpx }

export function parsed(text) {
  try {
    return JSON.parse(text || '{}')
  } catch {
    return {}
  }
}

function Code() {
  const [language, setLanguage] = useState('curl')
  const { flags } = useSyncExternalStore(subscribe, session)
  const tab = useGraphiQL(({ tabs, activeTabIndex }) => tabs[activeTabIndex])
  const operation = useGraphiQL(({ operations }) => operations?.[0]?.operation)
  const request = { query: tab.query ?? '', variables: parsed(tab.variables), flags, operation }
  const code = LANGUAGES[language](request)
  return (
    <section className="code-export" aria-label="Code">
      <h2>Code</h2>
      <p>
        <label>
          Language{' '}
          <select value={language} onChange={({ target }) => setLanguage(target.value)}>
            {Object.keys(LANGUAGES).map((name) => <option key={name}>{name}</option>)}
          </select>
        </label>{' '}
        <button type="button" onClick={() => navigator.clipboard.writeText(code)}>Copy</button>
      </p>
      <p>The program takes the key from the environment variable FLOORGATE_KEY.</p>
      <pre tabIndex={0}>{code}</pre>
    </section>
  )
}

function Icon() {
  return (
    <svg viewBox="0 0 24 24" width="20" height="20" fill="none" stroke="currentColor" strokeWidth="1.5">
      <path d="M8 6 2 12l6 6M16 6l6 6-6 6" />
    </svg>
  )
}

export const codeExport = { title: 'Code', icon: Icon, content: Code }
