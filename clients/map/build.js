// Bundles the component into one file that loads nothing else, and prints its size.

import { build } from 'esbuild'
import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'

const FILE = 'dist/floorgate-map.js'
const LARGEST_KB = 120

await build({
  entryPoints: ['src/index.ts'],
  outfile: FILE,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  legalComments: 'inline',
  logLevel: 'warning',
})

const kilobytes = gzipSync(await readFile(FILE), { level: 9 }).length / 1000
console.log(`${FILE}: ${kilobytes.toFixed(1)} kB gzipped`)
if (kilobytes > LARGEST_KB) throw new Error(`${FILE} is over ${LARGEST_KB} kB gzipped`)
