// The maps that the key sees, as cards with a search.

import { html, nothing, render } from 'lit'
import { TEXTS } from './maps_texts.js'
import { judgeKey } from './session.js'

const MAX_SHOWN = 120
const PER_PAGE = 1000
const QUERY = `query ListMaps($after: String) {
  maps(perPage: ${PER_PAGE}, after: $after) {
    pageInfo { hasNextPage endCursor }
    data { id name tags url asset { name } }
  }
}`

/** Read all maps, page by page. Throws an Error with a sentence for people. */
async function readMaps(base, key, signal) {
  const maps = []
  for (let after = null; ; ) {
    const response = await fetch(`${base}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'API-Key': key },
      body: JSON.stringify({ query: QUERY, variables: { after } }),
      signal,
    })
    const { data, errors, message = errors?.[0]?.message } = await response.json()
    judgeKey(response, message)
    if (!data) throw new Error(message)
    maps.push(...data.maps.data)
    if (!data.maps.pageInfo.hasNextPage) return maps
    after = data.maps.pageInfo.endCursor
  }
}

const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean)

/** The maps of which name, property or id have each word of a search. */
function search(maps, text) {
  const words = wordsOf(text)
  return maps.filter(({ id, name, asset }) => {
    const names = `${name} ${asset?.name ?? ''} ${id}`.toLowerCase()
    return words.every((word) => names.includes(word))
  })
}

/** Make the list in `element`; `load(key)` reads it for another key, `choose(id)` is called with a map, and `check(file)` with a
 * drawing that is to be checked. */
export function mapList(base, { choose, check }) {
  const element = document.createElement('section')
  element.className = 'maps'
  element.addEventListener('dragover', (event) => event.preventDefault())
  element.addEventListener('drop', (event) => {
    event.preventDefault()
    checkFirst(event.dataTransfer.files)
  })
  let maps = null
  let notice = null
  let text = ''
  let reading = null
  let readKey // the key that the maps are of

  const open = (event, id) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return // in a tab of its own
    event.preventDefault()
    choose(id)
  }

  const checkFirst = ([file]) => file && readKey && check(file)

  const card = ({ id, name, tags, url, asset }) => html`<li>
    <a href=${`?map=${encodeURIComponent(id)}`} @click=${(event) => open(event, id)}>
      <strong>${name}</strong>
      ${asset ? html`<span>${asset.name}</span>` : nothing}
      <small>${[url ? TEXTS.drawn : TEXTS.notDrawn, ...(tags.includes('pathfinding') ? [TEXTS.routable] : [])].join(' · ')}</small>
    </a>
  </li>`

  function draw() {
    const found = maps && search(maps, text)
    const shown = found?.slice(0, MAX_SHOWN)
    render(
      html`${notice ? html`<p role="status">${notice}</p>` : nothing}
        ${maps?.length
          ? html`<label>${TEXTS.search}<input type="search" .value=${text} @input=${({ target }) => draw((text = target.value))}></label>
              <p role="status">${found.length ? TEXTS.found(shown.length, found.length) : TEXTS.noneFound}</p>
              <ul>${shown.map(card)}</ul>`
          : nothing}
        ${maps
          ? html`<label class="file">${TEXTS.drop}<input type="file" accept=".svg,image/svg+xml" @change=${({ target }) => checkFirst(target.files)}></label>`
          : nothing}`,
      element,
    )
  }

  async function load(key) {
    if (key === readKey) return
    readKey = key
    reading?.abort()
    const { signal } = (reading = new AbortController())
    maps = null
    notice = key ? TEXTS.loading : TEXTS.noKey
    draw()
    if (!key) return
    try {
      const read = await readMaps(base, key, signal)
      if (signal.aborted) return
      maps = read.sort((a, b) => (a.asset?.name ?? '').localeCompare(b.asset?.name ?? '') || a.name.localeCompare(b.name))
      notice = maps.length ? null : TEXTS.noMaps
    } catch (error) {
      if (signal.aborted) return
      readKey = undefined
      notice = error instanceof TypeError ? TEXTS.unreachable : error.message
    }
    draw()
  }

  return { element, load }
}
