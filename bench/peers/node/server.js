// sofa-api at /v1 and GraphQL Yoga at /graphql, on graphql-js or on graphql-jit.
import { createServer } from 'node:http';
import { useGraphQlJit } from '@envelop/graphql-jit';
import { usePersistedOperations } from '@graphql-yoga/plugin-persisted-operations';
import { isCompiledQuery, compileQuery } from 'graphql-jit';
import { execute } from 'graphql';
import { createYoga } from 'graphql-yoga';
import { useSofa } from 'sofa-api';
import { reader } from './reading.js';
import { graphSchema, restSchema } from './schemas.js';

const [host, port] = process.argv.slice(2);
const { BENCH_ENGINE: engine, BENCH_KEY: key, BENCH_DOCUMENTS } = process.env;
const documents = JSON.parse(BENCH_DOCUMENTS); // by their hash
const isJit = engine === 'jit';

const compiled = new WeakMap();

// sofa-api gives one document per route, so that it is compiled once.
function executeCompiled({ schema, document, operationName, contextValue, variableValues }) {
  let query = compiled.get(document);
  if (query === undefined) {
    query = compileQuery(schema, document, operationName);
    if (!isCompiledQuery(query)) throw new Error(JSON.stringify(query));
    compiled.set(document, query);
  }
  return query.query(undefined, contextValue, variableValues);
}

const read = await reader();

const sofa = useSofa({
  basePath: '/v1',
  schema: restSchema(),
  context: () => ({ read }),
  execute: isJit ? executeCompiled : execute,
  routes: {
    'Query.unit': { method: 'GET', path: '/units/:id' },
    'Query.level_tags': { method: 'GET', path: '/maps/:map/levels/tags' },
    'Query.locations': { method: 'GET', path: '/maps/:map/locations' },
  },
});

const yoga = createYoga({
  schema: graphSchema(),
  context: () => ({ read, loaders: read.loaders() }),
  plugins: [
    usePersistedOperations({
      getPersistedOperation: (hash) => documents[hash],
      allowArbitraryOperations: true,
    }),
    ...(isJit ? [useGraphQlJit()] : []),
  ],
  graphiql: false,
  landingPage: false,
  logging: false,
});

createServer((request, response) => {
  if (request.headers['api-key'] !== key) {
    response.writeHead(403).end();
  } else if (request.url.startsWith('/graphql')) {
    yoga(request, response);
  } else {
    sofa(request, response);
  }
}).listen(Number(port), host);

process.on('SIGTERM', () => process.exit(0));
