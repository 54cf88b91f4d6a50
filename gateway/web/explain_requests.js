// The requests of what is shown, each with the way to its explanation.

import { html, render } from 'lit'
import { fetchExplanation, showExplanation } from './explain.js'
import { TEXTS } from './maps_texts.js'
import { session } from './session.js'

const MAX_REQUESTS = 30

/** What a request asks for, in one line. */
function nameOf({ method, url, body }) {
  const { pathname, search } = new URL(url)
  const query = body && pathname.endsWith('/graphql') ? /\w+ (\w+)/.exec(JSON.parse(body).query)?.[1] : ''
  return [method, decodeURIComponent(pathname + search), query].filter(Boolean).join(' ')
}

/** Collect the requests that `source` tells of; `open` shows them in the dialog. */
export function requestList(source, dialog) {
  const requests = new Map() // the latest last

  source.addEventListener('request', ({ detail }) => {
    const name = nameOf(detail)
    requests.delete(name)
    requests.set(name, detail)
    if (requests.size > MAX_REQUESTS) requests.delete(requests.keys().next().value)
  })

  async function explain({ url, method, headers, body }) {
    const explanation = await fetchExplanation(url, { method, body, headers: { ...headers, 'API-Key': session().key } })
    dialog.close()
    showExplanation(explanation)
  }

  function open() {
    render(
      html`<header>
          <h2 id="requests-title">${TEXTS.explain}</h2>
          <button type="button" @click=${() => dialog.close()}>${TEXTS.close}</button>
        </header>
        <p>${TEXTS.explainHint}</p>
        <ul>
          ${[...requests].reverse().map(([name, request]) => html`<li><button type="button" @click=${() => explain(request)}>${name}</button></li>`)}
        </ul>`,
      dialog,
    )
    dialog.showModal()
  }

  return { open }
}
