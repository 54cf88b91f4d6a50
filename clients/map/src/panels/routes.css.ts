// The look of the panels of routes, on top of what all controls share.

import { css } from 'lit'

export const routesStyles = css`
  .routes, .routes section, .routes form { display: grid; gap: 10px; }
  .routes :is(h3, p, ol, ul, fieldset) { margin: 0; padding: 0; border: 0; }
  .routes :is(h3, legend) { padding: 0; font-size: 15px; font-weight: 600; }
  .routes p:empty { display: none; }
  .routes .place { display: grid; grid-template-columns: 44px 1fr auto auto; gap: 6px; align-items: center; }
  .routes .place button { height: 40px; }
  .routes .swap { display: inline-flex; gap: 6px; align-items: center; justify-self: start; }
  .routes fieldset { display: flex; flex-wrap: wrap; gap: 2px 16px; }
  .routes .option { display: inline-flex; gap: 6px; align-items: center; min-height: 28px; margin: 0; }
  .routes .option input { min-height: 0; width: 18px; height: 18px; margin: 0; accent-color: var(--floorgate-accent); }
  .routes .summary { font-size: 17px; font-weight: 600; }
  .routes .head { margin-bottom: -6px; }
  .routes .head .summary { flex: 1; }
  .routes :is(.fold, .next) { display: none; }
  .routes .fold { width: 100%; flex-wrap: wrap; gap: 0 12px; align-items: center; justify-content: space-between; text-align: start; }
  .routes .chips { display: flex; flex-wrap: wrap; gap: 8px; }
  .routes .chips button { border-radius: 22px; }
  .routes .passed { display: flex; flex-wrap: wrap; gap: 6px; }
  .routes :is(ol, .reasons) { display: grid; gap: 2px; padding-inline-start: 26px; }
  .routes .reasons { gap: 12px; }
  .routes .reasons button { display: block; margin-top: 6px; text-align: start; }
  .routes .row { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 12px; width: 100%; border-color: transparent; text-align: start; }
  .routes .row:not([aria-current]):hover { border-color: var(--floorgate-border); }
  .routes .row[aria-current] small { color: inherit; }
  .routes .slider { display: grid; grid-template-columns: 1fr 70px; gap: 10px; align-items: center; }
  .routes .slider input { padding: 0; accent-color: var(--floorgate-accent); }

  @media (pointer: coarse) {
    .routes :is(button, .option) { min-height: 44px; }
  }

  @container (width < 640px) or (height < 480px) {
    .routes .fold { display: flex; }
    .routes .place { align-items: start; }
    .routes .next { display: block; }
    .routes .option { min-height: 44px; }
    .routes form[data-folded] .asked { grid-template-columns: 1fr auto; }
    .routes form[data-folded] .asked > :is(span, button:disabled) { display: none; }
    .routes form[data-folded] > :not(.asked) { display: none; }
    .routes form[data-folded]:not(:has(.asked)) { display: none; }
  }

  @media print {
    .routes :is(form, .fold, .chips, .next, .nearest, .reach, .passed, .reasons button) { display: none; }
    .routes .row { min-height: 0; padding: 0; }
  }
`
