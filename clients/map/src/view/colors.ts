// The colours of the view: CSS custom properties that a page may set on the host or above it, and
// what they are without: in a light and in a dark `color-scheme`.

const DEFAULTS = {
  '--floorgate-paper': ['#ffffff', '#14171c'], // around and under the drawing; see `Recolor`
  '--floorgate-unit-fill': ['', ''], // of all units; without it, the drawing's own
  '--floorgate-unit-hover': ['#1d4ed8', '#93b4ff'],
  '--floorgate-unit-selected': ['#1d4ed8', '#93b4ff'],
  '--floorgate-label': ['#1c2330', '#f2f4f8'],
  '--floorgate-label-halo': ['#ffffffd9', '#14171cd9'],
  '--floorgate-route': ['#1d4ed8', '#7ea6ff'],
  '--floorgate-route-casing': ['#ffffff', '#0b0d10'],
  '--floorgate-straight': ['#9f1239', '#ff9db4'],
  '--floorgate-area': ['#1d4ed8', '#7ea6ff'],
  '--floorgate-start': ['#15803d', '#4ade80'],
  '--floorgate-end': ['#b91c1c', '#ff8f8f'],
  '--floorgate-stop': ['#1d4ed8', '#93b4ff'],
  '--floorgate-warning': ['#b45309', '#fbbf24'],
  '--floorgate-amenity': ['#334155', '#cbd5e1'],
  '--floorgate-marker-text': ['#ffffff', '#14171c'],
  '--floorgate-focus': ['#1d4ed8', '#93b4ff'],
} satisfies Record<string, [light: string, dark: string]>

export type ColorName = keyof typeof DEFAULTS

/** The CSS value of a colour, with its default. */
export function cssColor(name: ColorName): string {
  const [light, dark] = DEFAULTS[name]
  return light ? `var(${name}, light-dark(${light}, ${dark}))` : `var(${name}, transparent)`
}

export interface Colors {
  paper: string
  /** Of all units, if the page sets one. */
  unitFill?: string
  label: string
  halo: string
  /** The colour in which one of the drawing is drawn. */
  own: (color: string) => string
}

/** Read the colours that hold for an element. */
export function readColors(element: HTMLElement): Colors {
  const probe = element.appendChild(document.createElement('span'))
  // style sheets for reduced motion give all elements a duration; the colour would not change at once
  probe.style.setProperty('transition', 'none', 'important')
  const read = (name: ColorName) => {
    probe.style.color = cssColor(name)
    return getComputedStyle(probe).color
  }
  const unitFill = read('--floorgate-unit-fill')
  const paper = read('--floorgate-paper')
  const colors = {
    paper,
    unitFill: parse(unitFill)[3] ? unitFill : undefined,
    label: read('--floorgate-label'),
    halo: read('--floorgate-label-halo'),
    own: lightness(paper) < 0.4 ? remembered(turned) : (color: string) => color,
  }
  probe.remove()
  return colors
}

type Rgba = [red: number, green: number, blue: number, alpha: number]

const reader = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!

/** Red, green, blue from 0 to 255, and alpha from 0 to 1, of any CSS colour; black if it is none. */
function parse(color: string): Rgba {
  reader.fillStyle = '#000'
  reader.fillStyle = color
  const text = reader.fillStyle
  if (text.startsWith('#')) {
    const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16))
    return [red!, green!, blue!, 1]
  }
  const numbers = (text.match(/[\d.]+/g) ?? []).map(Number)
  return text.startsWith('rgb') ? [numbers[0]!, numbers[1]!, numbers[2]!, numbers[3] ?? 1] : [0, 0, 0, 1]
}

function lightness(color: string): number {
  const [red, green, blue] = parse(color)
  return (Math.max(red, green, blue) + Math.min(red, green, blue)) / 510
}

// On dark paper, light becomes dark and dark becomes light, the hue stays: drawings are made for
// white paper, and their walls would vanish on black.
function turned(color: string): string {
  const [red, green, blue, alpha] = parse(color)
  const [high, low] = [Math.max(red, green, blue), Math.min(red, green, blue)]
  const light = (high + low) / 510
  const saturation = high === low ? 0 : (high - low) / 255 / (1 - Math.abs(2 * light - 1))
  let hue = 0
  if (high !== low) {
    if (high === red) hue = (green - blue) / (high - low)
    else if (high === green) hue = 2 + (blue - red) / (high - low)
    else hue = 4 + (red - green) / (high - low)
  }
  const percent = (share: number) => `${(100 * share).toFixed(1)}%`
  // from 12 % for white to 80 % for black; pale colours need less saturation when they are dark
  return `hsl(${(60 * hue).toFixed(1)} ${percent(saturation * 0.4)} ${percent(0.12 + 0.68 * (1 - light))} / ${alpha})`
}

function remembered(compute: (color: string) => string): (color: string) => string {
  const known = new Map<string, string>()
  return (color) => {
    let result = known.get(color)
    if (result === undefined) known.set(color, (result = compute(color)))
    return result
  }
}
