// Bundles the examples of both frameworks. The component comes from the service.

import { context } from 'esbuild'

const examples = await context({
  entryPoints: ['react.jsx', 'vue.js'],
  bundle: true,
  jsx: 'automatic',
  outdir: 'dist',
  format: 'esm',
  alias: { vue: 'vue/dist/vue.runtime.esm-bundler.js' },
  define: {
    'process.env.NODE_ENV': '"production"',
    __VUE_OPTIONS_API__: 'false',
    __VUE_PROD_DEVTOOLS__: 'false',
    __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
  },
})
await examples.rebuild()
if (process.argv.includes('--serve')) {
  const { port } = await examples.serve({ servedir: '.', port: 5173 })
  console.log(`http://localhost:${port}`)
} else {
  await examples.dispose()
}
