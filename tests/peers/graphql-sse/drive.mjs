// Drives graphql-sse's client in its distinct connections mode: `drive.mjs FOLDER URL`, then one JSON line
// {query, variables, headers, leave} for each operation on stdin. The first line out names the version; then each
// operation answers with one line: its results, and the error of its iterator. `leave` is how many results are read
// before the iterator is left.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, url] = process.argv.slice(2);
const load = createRequire(`${folder}/`);
const { createClient } = load("graphql-sse");
const about = JSON.parse(readFileSync(`${folder}/node_modules/graphql-sse/package.json`, "utf8"));
console.log(JSON.stringify({ version: about.version }));

for await (const line of createInterface({ input: process.stdin })) {
  const { headers = {}, leave = Infinity, ...operation } = JSON.parse(line);
  const client = createClient({ url, headers, retryAttempts: 0 });
  const results = [];
  let error = null;
  try {
    for await (const result of client.iterate(operation)) {
      results.push(result);
      if (results.length >= leave) break;
    }
  } catch (problem) {
    error = String(problem?.message ?? problem);
  }
  client.dispose();
  console.log(JSON.stringify({ results, error }));
}
