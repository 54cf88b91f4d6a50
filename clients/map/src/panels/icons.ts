// The signs on buttons: lines in a square of 20, in the colour of the text.

import { html, svg, type SVGTemplateResult } from 'lit'

const sign = (lines: SVGTemplateResult) =>
  html`<svg class="sign" viewBox="0 0 20 20" aria-hidden="true">${lines}</svg>`

export const icons = {
  close: sign(svg`<path d="M5 5l10 10M15 5L5 15" />`),
  plus: sign(svg`<path d="M10 4v12M4 10h12" />`),
  minus: sign(svg`<path d="M4 10h12" />`),
  whole: sign(svg`<path d="M8 3H3v5M12 3h5v5M8 17H3v-5M12 17h5v-5" />`),
  route: sign(svg`<path d="M5 17v-5a3 3 0 0 1 3-3h8M12.5 5.5L16 9l-3.5 3.5" />`),
  layers: sign(svg`<path d="M10 3l7 4-7 4-7-4zM3 10.5l7 4 7-4M3 14l7 4 7-4" />`),
  check: sign(svg`<path d="M6 3h6l4 4v10H6zM12 3v4h4M8.5 12.5l2 2 3-4" />`),
  target: sign(svg`<circle cx="10" cy="10" r="5" /><path d="M10 2v5M10 13v5M2 10h5M13 10h5" />`),
  swap: sign(svg`<path d="M6 16V4M3 7l3-3 3 3M14 4v12M11 13l3 3 3-3" />`),
}
