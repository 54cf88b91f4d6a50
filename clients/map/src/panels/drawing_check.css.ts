// The look of the warnings of a drawing and of the problems of a plan.

import { css } from 'lit'

export const drawingCheckStyles = css`
  .check h2 { margin: 0 0 4px; font-size: 1.1em; }
  .check p { margin: 4px 0; }
  .check .causes, .check .places { margin: 0; padding: 0; list-style: none; }
  .check .causes > li { padding: 8px 0; border-top: 1px solid var(--floorgate-border); }
  .check .number { display: inline-grid; place-items: center; min-width: 1.6em; padding: 0 4px; border-radius: 6px; background: var(--floorgate-warning); color: var(--floorgate-surface); font-weight: 600; }
  .check .remedy { color: var(--floorgate-quiet); }
  .check .places button { width: 100%; text-align: start; overflow-wrap: anywhere; }
  .check .places li { margin-top: 4px; overflow-wrap: anywhere; }
`
