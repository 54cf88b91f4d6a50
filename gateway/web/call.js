// Calls of /graphql with the caller's key and flags, and what is known of the last response.

import { getOperationAST, parse } from 'graphql'
import { createClient } from 'graphql-sse'
import { fetchExplanation } from './explain.js'
import { judgeKey, session } from './session.js'

const ADDRESS = 'graphql'
const NO_KEY = { message: 'Type your API key at the top of this page, press Enter, and run again.' }
const listeners = new Set()
let last = null

function headers({ key, flags }) {
  return {
    'Content-Type': 'application/json',
    Accept: 'application/graphql-response+json, application/json',
    'API-Key': key,
    ...(flags && { 'Experimental-Flags': flags }),
  }
}

/** Post an operation and return its result. */
export async function post(request, { signal, caller = session(), accept, isShown = false } = {}) {
  const started = performance.now()
  const response = await fetch(ADDRESS, {
    method: 'POST',
    headers: { ...headers(caller), ...(accept && { Accept: accept }) },
    body: JSON.stringify(request),
    signal,
  })
  const text = await response.text()
  const result = JSON.parse(text)
  judge(response, result)
  if (isShown || isUntrusted(result)) {
    show({
      status: response.status,
      milliseconds: Math.round(performance.now() - started),
      bytes: new TextEncoder().encode(text).length,
      headers: [...response.headers],
      flags: missingFlags(result),
      isUntrusted: isUntrusted(result),
    })
  }
  return result
}

/** Whether the service runs registered documents only, and this was none. */
function isUntrusted({ errors = [] }) {
  return errors.some(({ extensions }) => extensions?.code === 'DOCUMENT_NOT_TRUSTED')
}

function judge({ ok, status }, result) {
  // Only callers with a valid key learn that a document is not registered.
  judgeKey({ ok: ok || isUntrusted(result), status }, result.errors?.[0]?.message ?? result.message)
}

/**
 * Run a subscription, over server-sent events. An observable, unlike an async iterator, can be
 * stopped while it waits for an event.
 */
function subscribeTo(request) {
  const { key, flags } = session()
  const client = createClient({
    url: new URL(ADDRESS, location.href).href,
    headers: { 'API-Key': key, ...(flags && { 'Experimental-Flags': flags }) },
    retryAttempts: 0,
  })
  return { subscribe: (sink) => ({ unsubscribe: follow(client, request, sink) }) }
}

/** Pass the events of a subscription to `sink` and count them; returns the way to stop that. */
function follow(client, request, sink) {
  const shown = { events: 0, isOpen: true, flags: [] }
  const tell = (news) => show(Object.assign(shown, news) && { ...shown })
  let isStopped = false
  const unlessStopped = (listener) => (news) => isStopped || listener(news)
  tell({})
  const stop = client.subscribe(request, {
    next: unlessStopped((result) => {
      judgeKey({ ok: true })
      tell({ events: shown.events + 1, flags: missingFlags(result) })
      sink.next(result)
    }),
    error: unlessStopped(async (error) => {
      tell({ isOpen: false })
      if (!error.response) return sink.error({ message: error.message })
      const result = await error.response.json()
      judge(error.response, result)
      tell({ isUntrusted: isUntrusted(result) })
      sink.next(result)
      sink.complete()
    }),
    complete: unlessStopped(() => {
      tell({ isOpen: false })
      sink.complete()
    }),
  })
  return () => {
    isStopped = true
    tell({ isOpen: false })
    stop()
  }
}

/** The request without the name of another tab's operation, which GraphiQL may still hold. */
function withOwnName({ operationName, ...request }) {
  const names = [...request.query.matchAll(/\b(?:query|mutation|subscription)\s+(\w+)/g)]
  return names.some(([, name]) => name === operationName) ? { operationName, ...request } : request
}

/** Whether a request subscribes. GraphiQL's own parsed document may be another tab's still. */
function isSubscription({ query, operationName }) {
  try {
    return getOperationAST(parse(query), operationName)?.operation === 'subscription'
  } catch {
    return false // the service says what is wrong with it
  }
}

/** GraphiQL's fetcher: the operation runs with the key and the flags of this moment. */
export async function fetcher(anyRequest, { signal } = {}) {
  if (!session().key) return NO_KEY
  const request = withOwnName(anyRequest)
  if (isSubscription(request)) return subscribeTo(request)
  return post(request, { signal, isShown: request.operationName !== 'IntrospectionQuery' })
}

/** How the service carries out an operation, with the key and the flags of this moment. */
export async function explain(anyRequest) {
  if (!session().key) return NO_KEY
  const body = JSON.stringify(withOwnName(anyRequest))
  return fetchExplanation(ADDRESS, { method: 'POST', headers: headers(session()), body })
}

/** The flags that errors of a result ask for. */
function missingFlags({ errors = [] }) {
  const needed = errors.map(({ extensions }) => extensions?.flag)
  return [...new Set(needed.filter(Boolean))]
}

function show(response) {
  last = response
  listeners.forEach((listener) => listener())
}

/** What is known of the last response that is shown, or null. */
export function lastResponse() {
  return last
}

/** Calls `listener` after each response; returns the way to stop that. */
export function subscribeToResponses(listener) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
