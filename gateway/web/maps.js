// The map explorer: the list of maps, or the component with one of them. The address holds what is
// shown, so links, reloads and the back button work.

import './bar.css'
import './maps.css'
import { INITIAL_STATE, readLink, writeLink } from '@floorgate/map'
import { requestList } from './explain_requests.js'
import { mapList } from './map_list.js'
import { judgeKey, session, subscribe } from './session.js'
import { TEXTS } from './maps_texts.js'
import { openShare } from './share.js'

/** Parts of the state that are steps of the back button; other changes replace the address. */
const STEPS = ['map', 'unit', 'location', 'from', 'to']
const BASE = new URL('.', location.href).href.replace(/\/$/, '')

const page = document.getElementById('page')
const shareButton = document.getElementById('open-share')
const heading = document.getElementById('heading')
const explorer = document.createElement('floorgate-map')
explorer.url = BASE
explorer.controls = 'title search floors zoom layers routes card check'
const list = mapList(BASE, { choose: (map) => show({ ...INITIAL_STATE, map }), check: checkDrawing })
const explainButton = document.getElementById('open-requests')
const requests = requestList(explorer, document.getElementById('requests'))

const TITLE = document.title

const readAddress = () => ({ ...INITIAL_STATE, ...readLink(location.search) })
const stepOf = (state) => writeLink({ ...INITIAL_STATE, ...Object.fromEntries(STEPS.map((part) => [part, state[part]])) })

/** Write what is shown into the address. */
function follow(state) {
  const address = location.pathname + writeLink(state)
  if (address === location.pathname + location.search) return
  const isStep = stepOf(state) !== stepOf(readAddress())
  history[isStep ? 'pushState' : 'replaceState'](null, '', address)
}

function draw(state) {
  const isList = state.map === undefined
  if (isList) list.load(session().key)
  if (isList) document.title = TITLE
  if (isList) heading.textContent = TEXTS.maps
  shareButton.hidden = isList
  explainButton.hidden = isList
  document.documentElement.dataset.theme = state.theme
  explorer.state = state
  const shown = isList ? list.element : explorer
  if (page.firstChild !== shown) page.replaceChildren(shown)
}

function show(state) {
  follow(state)
  draw(state)
}

/** Show a drawing that was dropped on the list. */
function checkDrawing(file) {
  page.replaceChildren(explorer)
  explorer.checkDrawing(file)
}

function useKey() {
  explorer.apiKey = session().key
  if (list.element.isConnected) list.load(session().key)
}

explorer.addEventListener('statechange', ({ detail }) => {
  follow(detail)
  document.documentElement.dataset.theme = detail.theme
})
explorer.addEventListener('checkend', () => draw(readAddress()))
explorer.addEventListener('ready', ({ detail }) => {
  heading.textContent = detail.name
  document.title = `${detail.name} · ${TITLE}`
  judgeKey({ ok: true })
})
explorer.addEventListener('failure', ({ detail }) => judgeKey({ ok: false, status: detail.error?.status }, detail.message))
shareButton.addEventListener('click', () => openShare(BASE, explorer.state))
explainButton.addEventListener('click', requests.open)
addEventListener('popstate', () => draw(readAddress()))
subscribe(useKey)
const start = () => {
  draw(readAddress())
  useKey()
}
// The text of the page is painted first, as making the explorer takes a phone a moment.
const painted = new PerformanceObserver(() => {
  painted.disconnect()
  start()
})
if (document.hidden) start() // nothing is painted in a tab in the background
else painted.observe({ type: 'paint', buffered: true })
