// Distances and times as people say them.

export type Measure = 'feet' | 'metres'

const METRES_PER_FOOT = 0.3048
const REGIONS_WITH_FEET = new Set(['US', 'LR', 'MM'])

/** The measure that is asked for, or else the one that people use where this language is spoken; without a region, that of its largest one. */
export function measureOf(language: string, asked?: string | null): Measure {
  if (asked === 'feet' || asked === 'metres') return asked
  try {
    return REGIONS_WITH_FEET.has(new Intl.Locale(language).maximize().region ?? '') ? 'feet' : 'metres'
  } catch {
    return 'metres' // not a language tag
  }
}

/** A length, rounded to ten from 100 on as the service's steps do. */
export function formatLength(feet: number, measure: Measure, language: string): string {
  const value = measure === 'feet' ? feet : feet * METRES_PER_FOOT
  const rounded = value >= 100 ? Math.round(value / 10) * 10 : Math.round(value)
  const unit = measure === 'feet' ? 'foot' : 'meter'
  return formatUnit(rounded, unit, language)
}

/** A time: seconds below a minute, in steps of five; else minutes. */
export function formatTime(seconds: number, language: string): string {
  const short = seconds < 57.5
  const value = short ? Math.max(5, Math.round(seconds / 5) * 5) : Math.round(seconds / 60)
  const unit = short ? 'second' : 'minute'
  return formatUnit(value, unit, language)
}

/** A number with its unit. */
export function formatUnit(value: number, unit: string, language: string): string {
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short' }).format(value)
}

/** The English text of a step with its feet in another measure. */
export function convertStep(text: string, measure: Measure, language: string): string {
  if (measure === 'feet') return text
  return text.replace(/\b(walk )([\d,]+) ft\b/i, (_, walk: string, feet: string) => {
    return walk + formatLength(Number(feet.replaceAll(',', '')), measure, language)
  })
}
