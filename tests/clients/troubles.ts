// Ask a service that is in trouble, with the TypeScript client: node troubles.js URL TLS_URL

import { ChangesExpiredError, Floorgate, FloorgateError, ForbiddenError, ResponseError } from '@floorgate/client'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

const [url = '', tlsUrl = ''] = process.argv.slice(2)
const options = { url, key: ' key\n', flags: ['changes', 'distances'], headers: { 'X-Request-Id': 'mine' } }
const client = new Floorgate(options)
const ask = (map: string, with_ = client) => with_.maps(map).levelTags.list()
const failing = async (call: Promise<unknown>): Promise<unknown> => call.then(String, (reason: unknown) => reason)

async function errorOf(call: Promise<unknown>): Promise<FloorgateError> {
  const error = await failing(call)
  if (!(error instanceof FloorgateError)) throw new Error(`no FloorgateError: ${String(error)}`)
  return error
}

const data = []
for (const map of ['cut', 'seconds-ts', 'date-ts', 'lost-ts', 'gateway-ts', 'late-ts', 'same-ts', 'same-ts']) data.push(await ask(map))
const assignment = { group_id: 'a', attribute_id: 'b', asset_id: 'c', unit_id: 'd' }
await client.attributeGroups('post-ts').assignments.remove([assignment])
const shared = client.withOptions({ timeoutSeconds: 100, headers: { 'X-Tour': '7' } })
await ask('shared')
await ask('shared', shared)
const raw = await client.request('GET', '/v1/maps/{}/levels/tags', { ids: ['shared'] })

const ends = []
for (const map of ['down', 'broken', 'invalid', 'later', 'closed']) {
  const error = await errorOf(ask(`${map}-ts`))
  if (!(error instanceof ResponseError)) throw error
  const { status, code = null, fields, requestId: request_id = null, docs = null, retryAfter: retry_after = null } = error
  ends.push({ type: error.name, status, code, fields, request_id, docs, retry_after })
}
const errors: Record<string, unknown> = {}
for (const map of ['null', 'text', 'html', 'hours', 'elsewhere', 'expired', 'permission', 'login', 'list', 'members', 'zipped']) {
  const error = await errorOf(ask(map))
  errors[map] = [error.name, error.message.replace(url, 'URL'), error instanceof ForbiddenError || error instanceof ChangesExpiredError]
}
const followed: string[] = []
const follow = async () => {
  for await (const { cursor } of client.changes.follow({ pause_seconds: 0 })) followed.push(cursor)
}
followed.push((await errorOf(follow())).name)

const asked: (string | null)[] = []
let flags: string | null = null
const large = new Floorgate({
  url,
  key: 'key',
  async fetch(_, { headers }) {
    flags = new Headers(headers).get('experimental-flags')
    asked.push(new Headers(headers).get('if-none-match'))
    return new Response(new Uint8Array(20_000_000), { headers: { ETag: '"1"' } })
  },
})
const flagged = large.withOptions({ flags: ['locations', 'changes'] })
for (const map of ['a', 'b', 'a', 'c', 'a', 'b']) await flagged.request('GET', '/v1/maps/{}', { ids: [map] })

/** A server that accepts connections and says nothing. */
const silent = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1')
await once(silent, 'listening')
const silentUrl = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
let attempts = 0
const counted = (address: string, init: RequestInit) => {
  attempts++
  return fetch(address, init)
}
const waiting = new Floorgate({ url: silentUrl, key: 'key', timeoutSeconds: 0.2, fetch: counted })
const timeout = await errorOf(waiting.units.get('gym'))
const abort = new AbortController()
const stopped = failing(new Floorgate({ url: silentUrl, key: 'key', signal: abort.signal }).units.get('gym'))
await once(silent, 'connection')
abort.abort('enough')
const leaving = new AbortController()
const answered = async (address: string, init: RequestInit) => {
  const response = await fetch(address, init)
  setTimeout(() => leaving.abort('left'), 100) // while the client waits for the minute to pass
  return response
}
const pausing = failing(ask('minute', new Floorgate({ ...options, signal: leaving.signal, fetch: answered })))
const ended = [await stopped, await pausing]
silent.close()

const to = (url: string) => errorOf(new Floorgate({ url, key: 'key' }).units.get('gym')).then(({ message }) => message)
const addresses = Object.fromEntries(
  await Promise.all(
    Object.entries({
      certificate: tlsUrl,
      plain: tlsUrl.replace('https', 'http'),
      tls: url.replace('http', 'https'),
      nothing: silentUrl,
    }).map(async ([name, address]) => [name, (await to(address)).replace(address, 'URL')]),
  ),
)
const sentences = await Promise.all(
  [
    ...['', 'floorgate.example', 'localhost:8443', 'ftp://floorgate.example', 'https://f.example:abc', 'https://f.example?x=1', `${url}/v1/`, 'https://f.example/a/graphql'].map(
      (address) => () => new Floorgate({ url: address, key: 'key' }),
    ),
    () => new Floorgate({ url }),
    () => new Floorgate({ url, key: 'fgk_1 fgk_2' }),
    () => client.units.get('..'),
    () => client.units.list(JSON.parse('{"asset_id": "x"}')),
  ].map(async (run) => (await failing(Promise.resolve().then<unknown>(run)) as Error).message.replaceAll(url, 'URL')),
)
console.log(
  JSON.stringify({
    data,
    raw: [raw.status, raw.headers.get('x-request-id'), await raw.json()],
    ends,
    asked,
    flags,
    followed,
    errors,
    timeout: [timeout.name, timeout.message.replace(silentUrl, 'URL'), attempts],
    ended,
    addresses,
    sentences,
  }),
)
