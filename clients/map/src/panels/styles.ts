// The look of the controls. Pages change it with the CSS variables of the element.

import { css } from 'lit'

/** What all controls share; each shadow root has it. */
export const controls = css`
  *, ::before, ::after { box-sizing: border-box; }
  [hidden] { display: none !important; }
  button, input, select { font: inherit; color: inherit; }
  button { min-height: 36px; padding: 6px 12px; border: 1px solid var(--floorgate-border); border-radius: var(--floorgate-radius); background: var(--floorgate-surface); cursor: pointer; }
  button:hover { background: var(--floorgate-hover-surface); }
  button[aria-pressed='true'], button[aria-checked='true'], button[aria-current='true'] { border-color: var(--floorgate-accent); background: var(--floorgate-accent); color: var(--floorgate-on-accent); }
  button.primary { border-color: var(--floorgate-accent); background: var(--floorgate-accent); color: var(--floorgate-on-accent); font-weight: 600; }
  input, ::placeholder { text-overflow: ellipsis; }
  button.icon { display: inline-grid; place-items: center; width: 36px; padding: 0; }
  button:disabled { opacity: 0.5; cursor: default; }
  input, select { min-height: 40px; padding: 6px 12px; border: 1px solid var(--floorgate-border); border-radius: var(--floorgate-radius); background: var(--floorgate-surface); }
  :focus-visible { outline: 3px solid var(--floorgate-focus); outline-offset: 1px; }
  .surface { border: 1px solid var(--floorgate-border); border-radius: var(--floorgate-radius); background: var(--floorgate-surface); box-shadow: var(--floorgate-shadow); }
  .sign { width: 20px; height: 20px; fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linecap: round; stroke-linejoin: round; }
  small { color: var(--floorgate-quiet); }
  a { color: var(--floorgate-link); }
`
