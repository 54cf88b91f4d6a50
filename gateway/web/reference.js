// The interactive API reference, drawn by Swagger UI from the gateway's own description.

import 'swagger-ui-dist/swagger-ui.css'
import './bar.css'
import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js'
import { fetchExplanation, showExplanation } from './explain.js'
import { judgeKey, session, subscribe } from './session.js'

const page = document.getElementById('page')
const DESCRIPTION = new URL('openapi.json', location.href)

/** The description with its servers at this page's own origin, the only one the page may call. */
function atThisOrigin(description) {
  const paths = (description.servers ?? [{ url: '/' }]).map(
    ({ url }) => new URL(url, DESCRIPTION).pathname,
  )
  return {
    ...description,
    servers: [...new Set(paths)].map((path) => ({ url: location.origin + path.replace(/\/$/, '') })),
  }
}

/** The description with XML bodies as text: Swagger UI would offer files only, and no example. */
function withXmlAsText({ paths, ...description }) {
  const shown = structuredClone(paths)
  for (const operations of Object.values(shown)) {
    for (const { requestBody } of Object.values(operations)) {
      for (const [mediaType, content] of Object.entries(requestBody?.content ?? {})) {
        if (mediaType.endsWith('+xml')) content.schema = { type: 'string' }
      }
    }
  }
  return { ...description, paths: shown }
}

/** Follow the system's choice of dark or light, as GraphiQL does. */
function followColorScheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
  dark.addEventListener('change', apply)
  apply()
}

function keySchemes({ components }) {
  const schemes = Object.entries(components?.securitySchemes ?? {})
  return schemes.filter(([, { type, in: place }]) => type === 'apiKey' && place === 'header')
}

function authorize(ui, names) {
  const { key } = session()
  for (const name of names) {
    if (key) ui.preauthorizeApiKey(name, key)
    else if (ui.authSelectors.authorized().has(name)) ui.authActions.logout([name])
  }
}

/** The key has one place, the field at the top; the style sheet hides Swagger UI's other one. */
const withoutPadlocks = { wrapComponents: { authorizeOperationBtn: () => () => null } }

/** Links inside buttons cannot be used with a keyboard; addresses with an anchor still work. */
const withoutNestedLinks = { wrapComponents: { DeepLink: () => ({ text }) => text } }

/** Swagger UI makes XML examples from schemas; ours are given whole. */
const withXmlExamples = {
  afterLoad({ fn }) {
    const make = fn.getSampleSchema
    fn.getSampleSchema = (schema, mediaType, config, example) =>
      mediaType?.endsWith('+xml') && typeof example === 'string' ? example : make(schema, mediaType, config, example)
  },
}

async function explain({ url, method, headers, body }) {
  showExplanation(await fetchExplanation(url, { method, headers, body }))
}

/** Below each response: how the service carries out the request that was executed last. */
const withExplanations = {
  wrapComponents: {
    // JSX would make elements of another React than Swagger UI's.
    liveResponse: (LiveResponse, { React: { createElement, Fragment } }) => (props) => {
      const request = () => props.specSelectors.mutatedRequestFor(props.path, props.method).toJS()
      const button = { type: 'button', className: 'explanation-button', onClick: () => explain(request()) }
      return createElement(Fragment, null, createElement(LiveResponse, props), createElement('button', button, 'Explain'))
    },
  },
}

function judge(response) {
  judgeKey(response, response.body?.message)
  return response
}

function draw(description) {
  const names = keySchemes(description).map(([name]) => name)
  const domNode = document.createElement('div')
  page.replaceChildren(domNode)
  const ui = SwaggerUI({
    domNode,
    spec: withXmlAsText(atThisOrigin(description)),
    deepLinking: true,
    displayRequestDuration: true,
    filter: true,
    plugins: [withoutPadlocks, withoutNestedLinks, withXmlExamples, withExplanations],
    responseInterceptor: judge,
    tryItOutEnabled: true,
    validatorUrl: null,
    onComplete: () => authorize(ui, names),
  })
  return () => authorize(ui, names)
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
let authorizeAgain = () => {}

/** Draws the description that the key gets, again only if it differs: that would close all. */
async function show() {
  const { key } = session()
  try {
    const text = await load(key)
    if (key !== session().key) return // another one was typed meanwhile
    if (text !== drawn) authorizeAgain = draw(JSON.parse(text))
    else authorizeAgain()
    drawn = text
  } catch (error) {
    drawn = ''
    page.textContent = `The description could not be read: ${error.message}.`
  }
}

followColorScheme()
subscribe(show)
show()
