// The head of a panel: its title, and a button that closes it. On a phone, the sheet is dragged by it.

import { html, nothing } from 'lit'
import type { Texts } from '../texts.js'
import { icons } from './icons.js'

export interface HeadOptions {
  title: string
  /** Without it, only screen readers have the title. */
  isSeen?: boolean
  /** Beside the title. */
  content?: unknown
  texts: Texts
  onClose(): void
}

export function panelHead({ title, isSeen = true, content = nothing, texts, onClose }: HeadOptions) {
  return html`<header class="head grip">
    <h2 class=${isSeen ? nothing : 'unseen'}>${title}</h2>
    ${content}
    <button class="icon" type="button" @click=${onClose} aria-label=${texts.close} title=${texts.close}>${icons.close}</button>
  </header>`
}
