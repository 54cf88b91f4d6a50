// The maps of the page in plain JavaScript, and what the first tells.

import { apiKey, map, url } from './service.js'

for (const each of document.querySelectorAll('main > section > floorgate-map')) Object.assign(each, { url, apiKey, map })

const told = document.getElementById('told')
const whole = document.getElementById('whole')
whole.addEventListener('unitselect', ({ detail }) => {
  told.textContent = detail ? `Unit ${detail.name} is selected.` : 'No unit is selected.'
})
whole.addEventListener('routefound', ({ detail }) => {
  told.textContent = `The route takes ${Math.round(detail.seconds)} seconds.`
})
