// Every text of the page around the explorer, in English. Those of the explorer are the component's.

export const TEXTS = {
  noKey: 'Paste your API key at the top of this page and press Enter: the maps that it sees are listed here.',
  loading: 'Loading the maps',
  noMaps: 'This key sees no map.',
  unreachable: 'The service cannot be reached.',
  maps: 'Maps',
  search: 'Search maps',
  found: (shown, count) => (shown < count ? `The first ${shown} of ${count} maps` : count === 1 ? '1 map' : `${count} maps`),
  noneFound: 'No map has this name.',
  drawn: 'drawing',
  notDrawn: 'no drawing',
  routable: 'routes',

  explain: 'Requests of this page',
  explainHint: 'Choose one to see how the service carries it out: its operation, what it requires and costs, its MongoDB commands, and the caches.',
  drop: 'Drop a drawing (SVG) here to see it as the service reads it, or choose one:',

  share: 'Share what you see',
  address: 'Link',
  copy: 'Copy link',
  copied: 'Copied',
  keyStays: 'The link does not have your API key.',
  qr: 'QR code of the link',
  qrTooLong: 'The link is too long for a QR code.',
  saveQr: (format) => `QR code as ${format}`,
  savePicture: (format) => `Picture as ${format}`,
  print: 'Print',
  close: 'Close',
}
