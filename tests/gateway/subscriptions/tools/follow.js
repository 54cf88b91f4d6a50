// Follow a subscription with the client that front ends use, and print each result as a line.
// Arguments: ws or sse, the address of the service, the API key, the document.
import { createClient as createSseClient } from "graphql-sse";
import { createClient as createWsClient } from "graphql-ws";

const [transport, address, key, query] = process.argv.slice(2);
const retries = { retryAttempts: 20, retryWait: async () => {}, retry: async () => {} };
const client =
  transport === "ws"
    ? createWsClient({
        url: `${address.replace("http", "ws")}/graphql`,
        connectionParams: { apiKey: key },
        ...retries,
      })
    : createSseClient({ url: `${address}/graphql`, headers: { "API-Key": key }, ...retries });

const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
try {
  for await (const result of client.iterate({ query })) {
    print(result);
  }
  print("complete");
} catch (error) {
  // A WebSocket's end, a list of GraphQL errors, or a failed request.
  print({ code: error.code, reason: error.reason, errors: error.errors ?? error, message: error.message });
}
await client.dispose();
