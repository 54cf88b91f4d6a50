// The texts of drawings that are checked, and of plans with problems, in English. What is wrong and
// what to do about it are texts of the service.

export const WARNING_TEXTS = {
  check: 'Check drawings',
  checkDrawing: 'Check a drawing (SVG) before it is imported: choose it, or drop it on the map',
  readingDrawing: 'Reading the drawing',
  mapOfDrawing: 'The drawing as the service reads it',
  backToMap: 'Back to the map',
  drawingCheck: 'Warnings of the drawing',
  drawingRead: '{levels} levels, {units} units, {hitAreas} hit areas, {shapes} other shapes',
  noWarnings: 'No warnings',
  notes: 'How names were read',
  times: '{count} places',
  firstPlaces: '{count} places; the first {shown} are listed',
  atLine: 'Line {line}',
  wholeDrawing: 'The whole drawing',
  onlyInFile: 'It draws nothing, so it is not on the map',
  drawingRejected: 'The drawing cannot be read',

  planProblems: 'Problems of the floor plan',
  noProblems: 'The floor plan has no problems',
} as const
