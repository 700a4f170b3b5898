// Prints what the audits of GraphQL over HTTP say of a server: a JSON list of {id, name, status, reason}.
// usage: node audits.mjs URL, with graphql-http installed beside this file
import { serverAudits } from "graphql-http";

const [url] = process.argv.slice(2);
const results = [];
for (const audit of serverAudits({ url })) {
  const { id, name, status, reason } = await audit.fn();
  results.push({ id, name, status, reason });
}
console.log(JSON.stringify(results));
