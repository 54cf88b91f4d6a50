// Every audit that graphql-http has for servers, against the server at the first argument with
// the API key in the second. Prints what did not pass; exit status 1 when there is any.
import { serverAudits } from "graphql-http";

const [url, key] = process.argv.slice(2);
const fetchFn = (address, options = {}) =>
  fetch(address, { ...options, headers: { ...options.headers, "API-Key": key } });

const results = [];
for (const audit of serverAudits({ url, fetchFn })) {
  results.push(await audit.fn());
}
const failed = results.filter(({ status }) => status !== "ok");
for (const { status, id, name, reason } of failed) {
  console.log(`${status} ${id}: ${name}: ${reason}`);
}
console.log(`${results.length - failed.length} of ${results.length} audits pass`);
process.exitCode = failed.length > 0 ? 1 : 0;
