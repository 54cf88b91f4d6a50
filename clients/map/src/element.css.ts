// The look of the element: its variables, which pages may set, and its layout on desk, phone and paper.

import { css } from 'lit'

export const elementStyles = css`
  :host {
    --floorgate-surface: light-dark(#ffffff, #17252b);
    --floorgate-hover-surface: light-dark(#eaf2f1, #243840);
    --floorgate-text: light-dark(#14272d, #e8f1f0);
    --floorgate-quiet: light-dark(#52666c, #a9bfc2);
    --floorgate-border: light-dark(#c4d1d2, #3a525a);
    --floorgate-accent: light-dark(#0b6b62, #5eead4);
    --floorgate-on-accent: light-dark(#ffffff, #06211e);
    --floorgate-link: light-dark(#0b5c8a, #8fd3ff);
    --floorgate-focus: light-dark(#1565d8, #ffd166);
    --floorgate-warning: light-dark(#b45309, #fbbf24);
    --floorgate-radius: 8px;
    --floorgate-shadow: 0 2px 10px rgb(0 0 0 / 0.18);
    --floorgate-font: 15px/1.4 system-ui, sans-serif;

    color-scheme: light dark;
    display: block;
    position: relative;
    height: 480px;
    overflow: hidden;
    color: var(--floorgate-text);
    font: var(--floorgate-font);
    container-type: size;
  }

  .map { position: absolute; inset: 0; }
  .top { position: absolute; z-index: 3; inset: 12px auto auto 12px; display: flex; gap: 8px; width: min(380px, calc(100% - 24px)); }
  .top > button { flex: none; min-height: 40px; }
  .panel { position: absolute; z-index: 2; inset: 64px auto 12px 12px; width: 380px; height: fit-content; max-height: calc(100% - 76px); overflow: auto; padding: 14px 16px; }
  .panel:empty { display: none; }
  .sheet { display: contents; }
  .handle { display: none; }
  .title { position: absolute; z-index: 1; inset: 12px 12px auto auto; display: flex; flex-wrap: wrap; gap: 0 8px; max-width: calc(100% - 24px - 400px); margin: 0; padding: 6px 12px; }
  .right { position: absolute; z-index: 2; inset: auto 12px 28px auto; display: flex; flex-direction: column; align-items: end; gap: 10px; }
  .floors { display: flex; flex-direction: column; max-height: calc(100cqh - 220px); overflow: auto; }
  .floors button { min-width: 44px; min-height: 40px; border: 0; border-radius: 0; }
  .zoom { display: flex; flex-direction: column; }
  .zoom button { width: 44px; min-height: 40px; border: 0; border-radius: 0; background: none; }
  .zoom button:hover { background: var(--floorgate-hover-surface); }
  .attribution { position: absolute; z-index: 1; inset: auto 12px 6px auto; font-size: 12px; color: var(--floorgate-quiet); }
  .notice { position: absolute; z-index: 1; inset: 40% 12px auto; display: grid; justify-items: center; gap: 10px; margin: 0; text-align: center; }
  .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }

  .printed { display: none; }

  h2 { margin: 0; font-size: 19px; overflow-wrap: anywhere; }
  .head { display: flex; min-height: 44px; align-items: center; justify-content: space-between; gap: 8px; }
  .actions { display: flex; flex-wrap: wrap; gap: 8px; margin: 12px 0; }
  dl { display: grid; gap: 8px; margin: 12px 0; }
  dl div { display: grid; grid-template-columns: 36% 1fr; gap: 8px; }
  dt { color: var(--floorgate-quiet); }
  dd { margin: 0; overflow-wrap: anywhere; }
  details { border-top: 1px solid var(--floorgate-border); padding: 4px 0; }
  summary { padding: 8px 0; cursor: pointer; }
  pre { margin: 0 0 8px; padding: 10px; overflow: auto; border-radius: var(--floorgate-radius); background: var(--floorgate-hover-surface); font: 12px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
  label { display: grid; gap: 6px; margin: 10px 0; }
  .legend { display: grid; gap: 4px; margin: 0; padding: 0; list-style: none; }
  .legend button { display: flex; align-items: center; gap: 10px; width: 100%; border-color: transparent; text-align: start; }
  .legend button span { flex: 1; }
  .legend button[aria-pressed='true'] small { color: inherit; }
  .swatch { width: 18px; height: 18px; border-radius: 4px; }

  /* On a phone, everything is in a sheet at the bottom, in reach of a thumb; the map stays in sight above. */
  @container (width < 640px) {
    .sheet { --full: calc(100cqh - 60px); position: absolute; z-index: 3; inset: auto 0 0; display: flex; flex-direction: column; padding-bottom: env(safe-area-inset-bottom); border-radius: 14px 14px 0 0; background: var(--floorgate-surface); box-shadow: var(--floorgate-shadow); transition: height 0.2s; }
    .sheet:has(> .panel:not([hidden])) { height: var(--height); }
    .sheet[data-height='peek']:not([data-dragged]) { --height: min(112px, var(--full)); }
    .sheet[data-height='half']:not([data-dragged]) { --height: min(max(112px, 46cqh), var(--full)); }
    .sheet[data-height='full']:not([data-dragged]) { --height: var(--full); }
    .sheet[data-dragged] { transition: none; }
    .sheet:has(> .panel:not([hidden])) .handle { position: relative; display: block; flex: none; width: 100%; min-height: 24px; padding: 0; border: 0; border-radius: 14px 14px 0 0; background: none; }
    .handle::after { content: ''; position: absolute; inset: -20px 0 0; } /* for thumbs */
    .handle::before { content: ''; display: block; width: 40px; height: 5px; margin: 4px auto; border-radius: 3px; background: var(--floorgate-quiet); }
    .grip { touch-action: none; }
    .top { position: static; width: auto; padding: 10px 12px; }
    .panel { position: static; flex: 1; width: auto; max-height: none; min-height: 0; padding: 0 16px 14px; border: 0; background: none; box-shadow: none; }
    .right { inset: auto 12px calc(100% + 12px) auto; }
    .title { inset: 8px auto auto 8px; max-width: calc(100% - 16px); padding: 4px 10px; }
    .floors { max-height: calc(54cqh - 76px); }
    .attribution { inset: 12px 12px auto auto; }
    .sheet[data-height='full'] .right { display: none; }
  }

  /* On its side, the panel is beside the map, as high as it. */
  @container (width >= 640px) and (height < 480px) {
    .panel { inset: 8px auto 8px 8px; width: min(380px, 46cqw); max-height: none; }
    .floors { max-height: calc(100cqh - 84px); }
  }

  @container (width < 640px) or (height < 480px) {
    .sheet:has(> .panel:not([hidden])) .top, .zoom { display: none; }
    :is(.sheet, .notice) :is(button:not(.handle), input:not([type='checkbox'], [type='radio']), select) { min-width: 44px; min-height: 44px; }
  }

  @media (prefers-reduced-motion: reduce) {
    *, ::before, ::after { transition-duration: 0.01ms !important; animation-duration: 0.01ms !important; }
  }

  @media print {
    :host { display: flex; flex-direction: column; container-type: normal; height: auto; overflow: visible; color-scheme: light !important; }
    .printed { display: block; }
    .title { position: static; order: -1; margin: 0 0 8px; padding: 0; border: 0; box-shadow: none; font-size: 19px; font-weight: 600; }
    .sheet { display: contents !important; }
    .map { position: relative; height: 60vh; break-inside: avoid; }
    .top, .right, .handle, .card details, button.icon, .actions { display: none !important; }
    .panel { position: static; width: auto; max-height: none; border: 0; box-shadow: none; }
  }
`
