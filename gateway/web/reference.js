// The interactive API reference, drawn by Scalar from the gateway's own description.

import './no_eval.js'
import './nonce.js'
import '@scalar/api-reference/style.css'
import './bar.css'
import './reference.css'
import { AVAILABLE_CLIENTS } from '@scalar/types/snippetz'
import { h } from 'vue'
import { keepAccessible, withAttribute, without } from './accessible.js'
import { addCodeSamples } from './code_samples.js'
import { fetchExplanation, showExplanation } from './explain.js'
import { judgeKey, session, subscribe } from './session.js'

const page = document.getElementById('page')
const DESCRIPTION = new URL('openapi.json', location.href)
const loadScalar = import('@scalar/api-reference') // evaluated after the modules above
const REPAIRS = [
  ['button[role=none]', without('role')],
  ['[role=combobox]:not([aria-expanded])', withAttribute('aria-expanded', 'false')],
  ['.cm-content:not([aria-label])', withAttribute('aria-label', 'Body')],
  ['.cm-scroller:not([tabindex="0"])', withAttribute('tabindex', '0')],
  ['button[aria-label="Copy code"][aria-controls]', without('aria-controls')], // it names no element
  ['.t-doc__header:not([role])', withAttribute('role', 'navigation')], // on a phone; the page has a header
  ['.t-doc__header > header:not([role])', withAttribute('role', 'none')],
  ['.t-doc__header:not([aria-label])', withAttribute('aria-label', 'Operations')],
]
const CURL = { targetKey: 'shell', clientKey: 'curl' }

/** The servers of the description at this page's own origin, the only one the page may call. */
function serversHere({ servers = [{ url: '/' }] }) {
  const paths = servers.map(({ url }) => new URL(url, DESCRIPTION).pathname.replace(/\/$/, ''))
  return [...new Set(paths)].map((path) => ({ url: location.origin + path }))
}

/** The schemes that send the key in a header: one place for it is enough. */
function keyHeaders({ components }) {
  const schemes = Object.entries(components?.securitySchemes ?? {})
  return schemes.filter(([, { type, in: place }]) => type === 'apiKey' && place === 'header').map(([name]) => name)
}

let tried = null

async function explainTried() {
  const { url, method, headers } = tried
  const body = await tried.clone().text()
  showExplanation(await fetchExplanation(url, { method, headers: Object.fromEntries(headers), ...(body && { body }) }))
}

/** Sends the key of the page; above each response: how the service carries the request out. */
const tryPlugin = () => ({
  name: 'floorgate',
  extensions: [],
  apiClientPlugins: [
    {
      hooks: {
        requestBuilt: ({ request }) => void (tried = request.clone()),
        responseReceived: async ({ response }) =>
          judgeKey(response, response.ok ? '' : (await response.json().catch(() => ({}))).message),
      },
      components: {
        response: {
          component: () => h('button', { type: 'button', class: 'explanation-button', onClick: explainTried }, 'Explain'),
        },
      },
    },
  ],
})

/** Examples of optional parameters are not sent, and not in samples, until their boxes are ticked. */
function withUntickedOptions({ paths, components, ...description }) {
  const untick = (parameter) => {
    const value = parameter.example ?? parameter.schema?.default
    if (parameter.required || value === undefined) return parameter
    const { example, ...rest } = parameter
    return { ...rest, examples: { example: { value, 'x-disabled': true } } }
  }
  const shown = structuredClone(paths)
  for (const operations of Object.values(shown)) {
    for (const operation of Object.values(operations)) operation.parameters = operation.parameters?.map(untick)
  }
  const parameters = Object.entries(components.parameters ?? {}).map(([name, parameter]) => [name, untick(parameter)])
  return { ...description, paths: shown, components: { ...components, parameters: Object.fromEntries(parameters) } }
}

const slug = (text) => text.replaceAll(' ', '-')

/** Scalar's anchor of what a link names. If the key does not see that, the start: Scalar would put it before all its links. */
function anchorOf(hash, { paths }) {
  const anchor = slug(decodeURIComponent(hash)).replace('#/', '#tag/')
  const operations = Object.values(paths).flatMap(Object.values)
  const isSeen = operations.some(({ tags, operationId }) => tags.some((tag) => `#tag/${slug(tag)}/${operationId}`.startsWith(anchor)))
  return isSeen || !anchor.startsWith('#tag/') ? anchor : '#'
}

function configure(description) {
  const names = keyHeaders(description)
  return {
    content: withUntickedOptions(description),
    servers: serversHere(description),
    authentication: {
      preferredSecurityScheme: names[0],
      securitySchemes: Object.fromEntries(names.map((name) => [name, { value: session().key }])),
    },
    plugins: [tryPlugin],
    hiddenClients: AVAILABLE_CLIENTS.filter((client) => client !== Object.values(CURL).join('/')),
    defaultHttpClient: CURL,
    generateTagSlug: ({ name }) => slug(name),
    generateOperationSlug: ({ operationId }) => operationId,
    redirect: (hash) => anchorOf(hash, description),
    modelsSectionLabel: 'Schemas',
    documentDownloadType: 'none', // the bar has links to both
    withDefaultFonts: false,
    telemetry: false,
    showDeveloperTools: 'never',
    hideClientButton: true,
    agent: { disabled: true },
    mcp: { disabled: true },
  }
}

/** The description as JSON text: with a valid key it has the operator's own endpoints, too. */
async function load(key) {
  const response = await fetch(DESCRIPTION, { headers: key ? { 'API-Key': key } : {} })
  if (!key && !response.ok) throw new Error(`${DESCRIPTION.pathname} answered ${response.status}`)
  const text = await response.text()
  if (key && key === session().key) judgeKey(response, response.ok ? '' : JSON.parse(text).message)
  return response.ok ? text : load('')
}

let drawn = ''
let reference = null

function remove() {
  reference?.destroy()
  reference = null
  page.replaceChildren()
}

/** Draws the description that the key gets, again only if it differs: that would close all. */
async function show() {
  const { key } = session()
  try {
    const [{ createApiReference }, text] = await Promise.all([loadScalar, load(key)])
    if (key !== session().key) return // another one was typed meanwhile
    const description = JSON.parse(text)
    addCodeSamples(description)
    const configuration = configure(description)
    if (text === drawn) return reference.updateConfiguration(configuration)
    remove()
    reference = createApiReference(page, configuration)
    drawn = text
  } catch (error) {
    remove()
    drawn = ''
    page.textContent = `The description could not be read: ${error.message}.`
  }
}

keepAccessible(document.body, REPAIRS)
subscribe(show)
show()
