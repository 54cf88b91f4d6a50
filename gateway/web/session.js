// The API key and the experimental flags: what the caller typed, kept for this tab only. The link to
// the explorer that the demo prints has its key in the fragment.
// The key goes nowhere but into sessionStorage and the API-Key header.

import { takeFromFragment } from './fragment.js'

const KEY = 'floorgate.key'
const FLAGS = 'floorgate.flags'
const HINT = 'Needed to read data'

const field = document.getElementById('key')
const state = document.getElementById('key-state')
const menu = document.getElementById('bar-menu')
const boxes = [...document.querySelectorAll('#flags input')]
const listeners = new Set()
let current = read()

function read() {
  return {
    key: sessionStorage.getItem(KEY) ?? '',
    flags: sessionStorage.getItem(FLAGS) ?? '',
  }
}

function typed() {
  const checked = boxes.filter((box) => box.checked).map((box) => box.value)
  return { key: field.value.trim(), flags: boxes.length ? checked.join(',') : current.flags }
}

function apply() {
  const next = typed()
  if (next.key === current.key && next.flags === current.flags) return
  current = next
  sessionStorage.setItem(KEY, next.key)
  sessionStorage.setItem(FLAGS, next.flags)
  showKeyState(next.key ? '' : HINT)
  openMenu(!next.key)
  listeners.forEach((listener) => listener())
}

function showKeyState(text, tone = '') {
  state.textContent = text
  state.dataset.tone = tone
}

/** On a phone, the links and the key are in a menu: it is open while there is no key. */
function openMenu(isOpen) {
  menu.ariaExpanded = String(isOpen)
}

/** Says beside the field what an answer of the service means for the key. */
export function judgeKey({ ok, status }, message) {
  if (ok) showKeyState('Key accepted', 'good')
  else if (status === 401 || status === 403) {
    showKeyState(message ?? 'Key refused', 'bad')
    if (status === 401) openMenu(true)
  }
}

/** All experimental flags, as the header names them. */
export const ALL_FLAGS = boxes.map((box) => box.value).join(',')

/** Switch on an experimental flag for the calls that follow. */
export function switchOn(flag) {
  const box = boxes.find(({ value }) => value === flag)
  if (!box) return
  box.checked = true
  apply()
}

/** The same object until the caller changes something: `{ key, flags }`. */
export function session() {
  return current
}

/** Calls `listener` after each change; returns the way to stop that. */
export function subscribe(listener) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Use the key and the flags of a link as if they had been typed and switched on. */
function takeKey() {
  const key = takeFromFragment('key')?.trim()
  const flags = takeFromFragment('flags')?.split(',') ?? []
  if (key) field.value = key
  for (const box of boxes) box.checked ||= flags.includes(box.value)
  if (key || flags.length) apply()
}

field.value = current.key
boxes.forEach((box) => (box.checked = current.flags.split(',').includes(box.value)))
showKeyState(current.key ? '' : HINT)
openMenu(!current.key)
menu.addEventListener('click', () => openMenu(menu.ariaExpanded !== 'true'))
field.addEventListener('change', apply)
boxes.forEach((box) => box.addEventListener('change', apply))
takeKey()
addEventListener('hashchange', takeKey) // a link pasted into an open tab
document.getElementById('key-form').addEventListener('submit', (event) => {
  event.preventDefault()
  apply()
})
