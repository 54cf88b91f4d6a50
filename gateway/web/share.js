// The dialog that shares what is shown, or the link of a sign at a place: as a QR code, pictures, paper.
// None of them has the API key of this page.

import { writeLink } from '@floorgate/map'
import { html, nothing, render } from 'lit'
import { unsafeSVG } from 'lit/directives/unsafe-svg.js'
import { encode, renderSVG } from 'uqr'
import { TEXTS } from './maps_texts.js'
import { judgeKey, session } from './session.js'

const QR = { ecc: 'M', border: 4 } // the quiet zone that the standard asks for
const QR_PIXELS = 1024
const FLAGS = 'distances'

const dialog = document.getElementById('share')

function save(blob, name) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

/** The QR code of a text as SVG, or null if it is too long for one. */
function qrOf(text) {
  try {
    return renderSVG(text, QR)
  } catch {
    return null
  }
}

function toPng(text) {
  const { data, size } = encode(text, QR)
  const scale = Math.floor(QR_PIXELS / size)
  const canvas = new OffscreenCanvas(size * scale, size * scale)
  const context = canvas.getContext('2d')
  context.fillStyle = '#fff'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.fillStyle = '#000'
  data.forEach((row, y) => row.forEach((isDark, x) => isDark && context.fillRect(x * scale, y * scale, scale, scale)))
  return canvas.convertToBlob({ type: 'image/png' })
}

/** The picture of what is shown, which the service makes. Throws an Error for people. */
async function readPicture(base, { map, floor, unit, from, to, mode, avoid }, format) {
  const address = new URL(`${base}/v1/maps/${encodeURIComponent(map)}/picture`)
  const link = new URLSearchParams(writeLink(from && to ? { from, to, mode, avoid } : {}))
  const values = { level: floor, unit, ...Object.fromEntries(link), format }
  for (const [name, value] of Object.entries(values)) if (value) address.searchParams.set(name, value)
  const headers = { 'API-Key': session().key, ...(from && to && { 'Experimental-Flags': FLAGS }) }
  const response = await fetch(address, { headers })
  if (response.ok) return response.blob()
  const { message } = await response.json().catch(() => ({}))
  judgeKey(response, message)
  throw new Error(message ?? TEXTS.unreachable)
}

/** Open the dialog for what is shown at `base`, the address of the service. */
export function openShare(base, state) {
  const { map, unit, location } = state
  const here = unit ? { unit } : location ? { location } : (state.here ?? state.from)
  let isSign = false
  let signKey = ''
  let notice = ''
  let address
  let qr

  const tell = (text) => draw((notice = text))
  const copy = () => navigator.clipboard.writeText(address).then(() => tell(TEXTS.copied), selectAddress)
  const selectAddress = () => dialog.querySelector('input[readonly]').select() // without the right to copy
  const savePicture = (format) =>
    readPicture(base, state, format.toLowerCase()).then(
      (blob) => save(blob, `${state.map}.${format.toLowerCase()}`),
      (error) => tell(error instanceof TypeError ? TEXTS.unreachable : error.message),
    )
  const saveQr = async (format) =>
    save(format === 'PNG' ? await toPng(address) : new Blob([qr], { type: 'image/svg+xml' }), `qr.${format.toLowerCase()}`)
  const printPage = () => {
    dialog.close()
    print()
  }
  const saver = (name, act) => ['SVG', 'PNG'].map(
    (format) => html`<button type="button" @click=${() => act(format)}>${name(format)}</button>`,
  )

  /** A sign tells where it is; the rest is for people to ask. */
  function draw() {
    const key = signKey && `#${new URLSearchParams({ key: signKey })}`
    address = `${base}/maps${isSign ? writeLink({ map, here }) + key : writeLink(state)}`
    qr = qrOf(address)
    const choice = (value, name) => html`<label class="choice">
      <input type="radio" name="shared" .checked=${isSign === value} @change=${() => draw((isSign = value))}>${name}
    </label>`
    render(
      html`<header>
          <h2 id="share-title">${TEXTS.share}</h2>
          <button type="button" @click=${() => dialog.close()}>${TEXTS.close}</button>
        </header>
        ${here ? html`${choice(false, TEXTS.shareView)} ${choice(true, TEXTS.shareSign)}` : nothing}
        ${isSign
          ? html`<label>${TEXTS.signKey}<input autocomplete="off" spellcheck="false" .value=${signKey} @change=${({ target }) => draw((signKey = target.value.trim()))}></label>
              <p>${TEXTS.signKeyHint}</p>`
          : nothing}
        <label>${TEXTS.address}<input readonly .value=${address} @focus=${selectAddress}></label>
        ${isSign ? nothing : html`<p>${TEXTS.keyStays}</p>`}
        <div class="actions">
          <button type="button" @click=${copy}>${TEXTS.copy}</button>
          <button type="button" @click=${printPage}>${TEXTS.print}</button>
          ${saver(TEXTS.savePicture, savePicture)}
        </div>
        ${qr
          ? html`<figure role="img" aria-label=${TEXTS.qr}>${unsafeSVG(qr)}</figure>
              <div class="actions">${saver(TEXTS.saveQr, saveQr)}</div>`
          : html`<p>${TEXTS.qrTooLong}</p>`}
        <p role="status">${notice || nothing}</p>`,
      dialog,
    )
  }

  draw()
  dialog.showModal()
}
