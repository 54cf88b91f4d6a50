// The style sheet of the view, for `adoptedStyleSheets` of the root that holds the host.

import { cssColor } from './colors.js'

export const viewStyles: string = `
.floorgate-view {
  position: absolute;
  inset: 0;
  overflow: clip;
  isolation: isolate;
  background: ${cssColor('--floorgate-paper')};
  cursor: grab;
  touch-action: none;
  user-select: none;
  -webkit-user-select: none;
  -webkit-tap-highlight-color: transparent;
}
.floorgate-view:active { cursor: grabbing; }
.floorgate-view.over-unit { cursor: pointer; }
.floorgate-view:focus-visible { outline: 3px solid ${cssColor('--floorgate-focus')}; outline-offset: -3px; }
.floorgate-view canvas {
  position: absolute;
  inset: 0 auto auto 0;
  transform-origin: 0 0;
  will-change: transform;
  max-width: none;
}
.floorgate-view canvas[hidden] { display: none; }
.floorgate-view > svg {
  position: absolute;
  inset: 0;
  z-index: 2;
  width: 100%;
  height: 100%;
  pointer-events: none;
}
.floorgate-view path { fill: none; vector-effect: non-scaling-stroke; stroke-linejoin: round; stroke-linecap: round; }
.floorgate-view .area {
  fill: ${cssColor('--floorgate-area')};
  fill-opacity: 0.18;
  fill-rule: evenodd;
  stroke: ${cssColor('--floorgate-area')};
  stroke-width: 1.5;
}
.floorgate-view .hovered {
  fill: ${cssColor('--floorgate-unit-hover')};
  fill-opacity: 0.16;
  stroke: ${cssColor('--floorgate-unit-hover')};
  stroke-width: 1.5;
}
.floorgate-view .selected {
  fill: ${cssColor('--floorgate-unit-selected')};
  fill-opacity: 0.22;
  stroke: ${cssColor('--floorgate-unit-selected')};
  stroke-width: 3;
}
.floorgate-view .casing { stroke: ${cssColor('--floorgate-route-casing')}; stroke-width: 9; }
.floorgate-view .route { stroke: ${cssColor('--floorgate-route')}; stroke-width: 5; }
.floorgate-view .straight {
  stroke: ${cssColor('--floorgate-straight')};
  stroke-width: 2.5;
  stroke-dasharray: 2 7;
}
.floorgate-view .markers { position: absolute; inset: 0 auto auto 0; z-index: 3; width: 0; height: 0; }
.floorgate-view .marker {
  position: absolute;
  inset: -14px auto auto -14px;
  box-sizing: border-box;
  width: 28px;
  height: 28px;
  min-height: 0;
  margin: 0;
  padding: 0;
  border: 2px solid ${cssColor('--floorgate-route-casing')};
  border-radius: 50%;
  background: ${cssColor('--floorgate-amenity')};
  color: ${cssColor('--floorgate-marker-text')};
  font: 600 12px/1 system-ui, sans-serif;
  white-space: nowrap;
  cursor: pointer;
  box-shadow: 0 1px 3px rgb(0 0 0 / 0.4);
}
@media (pointer: coarse) {
  .floorgate-view .marker::after { content: ''; position: absolute; inset: -10px; }
}
.floorgate-view .marker:hover { z-index: 4; filter: brightness(1.15); }
.floorgate-view .marker:focus-visible {
  z-index: 5;
  outline: 3px solid ${cssColor('--floorgate-focus')};
  outline-offset: 2px;
}
.floorgate-view .stop { z-index: 1; background: ${cssColor('--floorgate-stop')}; }
.floorgate-view .here { z-index: 1; border-width: 4px; background: ${cssColor('--floorgate-route')}; box-shadow: 0 0 0 6px rgb(37 99 235 / 0.25); }
.floorgate-view .warning { z-index: 1; border-radius: 6px; background: ${cssColor('--floorgate-warning')}; }
.floorgate-view .start, .floorgate-view .end {
  z-index: 2;
  top: -34px;
  border-radius: 50% 50% 50% 0;
  rotate: -45deg;
}
.floorgate-view .start { background: ${cssColor('--floorgate-start')}; }
.floorgate-view .end { background: ${cssColor('--floorgate-end')}; }
.floorgate-view .start > span, .floorgate-view .end > span { display: block; rotate: 45deg; }
@media (forced-colors: active) {
  .floorgate-view .marker { border-color: ButtonText; }
}
@media print {
  .floorgate-view { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
`
