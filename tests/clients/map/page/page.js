import { MapView, viewStyles } from './floorgate-map.js'
const sheet = new CSSStyleSheet()
sheet.replaceSync(viewStyles)
document.adoptedStyleSheets.push(sheet)
const view = new MapView(document.querySelector('#host'), { label: 'Map of the building' })
const events = []
for (const name of ['pick', 'hover', 'marker'])
  view.on(name, (detail) => events.push([name, detail]))
view.on('move', () => { window.moves++ })
view.on('drawn', () => { window.drawn++ })
Object.assign(window, { view, events, moves: 0, drawn: 0 })
window.show = async (name) => {
  const parsed = await (await fetch(name)).json()
  const before = window.drawn
  view.setDrawing(parsed)
  await window.settled(before)
}
/** Resolves when a condition holds, which is looked at once a frame. */
window.until = (condition) => new Promise((resolve) => {
  const check = () => (condition() ? resolve() : requestAnimationFrame(check))
  check()
})
/** Resolves when the view is drawn once more than `before`. */
window.settled = (before) => until(() => window.drawn > before)
